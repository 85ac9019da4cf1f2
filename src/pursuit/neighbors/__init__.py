"""Nearest neighbours by local subspaces: the mathematics under the estimators."""
