"""Methods of the experiments: those of the papers, and tuned methods of today."""
