"""Experiments, one module per family, each with a list ``EXPERIMENTS``.

Vincent (2003): `usps_digits` Table 9.1, `mushrooms` 9.2, `thirds` 9.3, `margin_losses`
Figure 9.5, `planes` 9.6 and 9.7; `local_neighbors` Table 11.1, `reduced_neighbors`
11.2, `neighbor_figures` Figures 11.2 and 11.3; `spirals` Table 13.1 and Figure 13.2,
`digit_densities` Table 13.2, `density_classifiers` 13.3 and 13.4. Popovici and Thiran
(2003): `adaptive`. Hussain and Shawe-Taylor (2008): `matching_theory`. All available
data sets: `survey`.

The modules do not import each other. Shared code is in `pursuit.reproduce.methods` and
`pursuit.reproduce.protocols`.
"""
