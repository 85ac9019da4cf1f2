"""Densities of local Gaussians: the mathematics under the estimators."""
