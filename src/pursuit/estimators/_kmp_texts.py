"""What the docstrings of the regressor and the classifier have in common."""

from __future__ import annotations

REGRESSION_LOSSES = """"squared"; "absolute" and "huber", little moved by
        outliers; "quantile" (``Quantile(0.9)`` for others than the median);
        "poisson" for counts and rates, with a log link"""

CLASS_LOSSES = '''"squared"; "logistic", which gives probabilities (several
        classes that share their support: one softmax); "hinge" (smoothed),
        "squared-hinge", "exponential", "squared-tanh", "doom2"'''

PARAMETERS = """kernel : str, callable or kernel object, default="rbf"
        SVC's names ("rbf", "poly", "linear", "sigmoid"), "laplacian", "cosine",
        "precomputed", any callable ``k(X, Y)`` that returns a matrix, a kernel of
        :mod:`pursuit.kernels`, or one of scikit-learn's Gaussian-process kernels.
        It need not be symmetric or positive definite.
    gamma : float or {"cv", "median", "scale", "auto"}, default="cv"
        The kernel's width, for kernels given by name. "median" is 1 over the median
        squared distance of the training points; "scale" and "auto" are SVC's; "cv"
        compares multiples of "median", 1/64 to 256, by the same folds as the size (or
        by the part held out), as `alpha` below.
    degree : int, default=3
        Of the kernel "poly".
    coef0 : float, default=0.0
        Of the kernels "poly" and "sigmoid". With 0, as in SVC, a cubic kernel has no
        lower powers and far points outweigh all others in the squared error: 1 is
        better.
    dictionary : Dictionary, kernel or None, default=None
        Where the model's functions come from: an object of
        :mod:`pursuit.dictionaries` (or a kernel, for `OneKernel` of it), in place of
        `kernel` and its parameters. None: the kernel on the training points,
        ``OneKernel(kernel, gamma=gamma)``.
    loss : str or Loss, default="squared"
        What is minimised: <losses>;
        or a loss object of :mod:`pursuit.losses`, your own included.
    max_support : int, float or None, default=None
        The most support points the model may keep: a number, or a share of the
        distinct training rows. None: 10 times the square root of their number, at
        least 100 and at most 1000. For ``method="basic"``, the number of steps.
    method : {"pre-fitting", "back-fitting", "basic"}, default="pre-fitting"
        What is optimised with each new point. "pre-fitting" (orthogonal least
        squares) chooses the point that leaves the smallest error after all
        coefficients are optimised; "back-fitting" (orthogonal matching pursuit)
        chooses by the residue and optimises all coefficients afterwards; "basic"
        (matching pursuit) only ever sets the new coefficient. With other losses,
        "pre-fitting" foresees the error by the loss's parabola at the current fit.
    backfit_every : int, default=1
        After how many steps all coefficients are optimised again, in between only
        the new one (and the constant).
    selection : {"cv", "loo", "validation", "bound"} or None, default="cv"
        How the size is chosen on the path. "cv": lowest error of k-fold paths, then
        a fit to all data (above 10 000 rows with an integer `cv`: as "validation").
        "validation": a part is held out, the model is fitted to the rest, and the
        size best on that part is kept. "loo": one fit, stopped by the closed-form
        leave-one-out error. "bound": one fit, stopped where a generalization bound
        stops falling. None: all of `max_support`.
    scoring : str, callable or None, default=None
        By which of scikit-learn's scores "cv" and "validation" compare sizes, widths
        and ridges. None: by the loss.
    size_tolerance : float or "1se", default=0.01
        The smallest size whose error is within this share of the lowest is chosen,
        or within one standard error of it ("1se", over folds; as 0 where there are
        none, with "validation" and "loo"). "bound" takes the lowest itself.
    cv : int, splitter or iterable, default=10
        The folds. An integer makes folds that are balanced in y, keep equal rows
        together, and do not depend on the order of the rows. Only where X is a few
        categories (up to 10 different rows a fold, each there 5 times or more) do
        copies of a row go to different folds. A splitter that keeps groups together
        gets those passed as ``fit(X, y, groups=...)``.
    validation_fraction : float, default=0.2
        The share held out by ``selection="validation"``.
    patience : int or None, default=None
        Steps without improvement after which "validation", "loo" and "bound" stop.
        None: 5 for "loo", else 30 plus the best size so far.
    bound : {"auto", "vc", "mdl", "finite-class"}, default="auto"
        What ``selection="bound"`` lowers, as in ``path_.bound``. "auto":
        "finite-class" for classes, else "vc".
    bound_alpha : float or None, default=None
        The error that "vc" tolerates. None: 1 for classes, half of the targets'
        standard deviation otherwise.
    delta : float, default=0.05
        The probability with which the bound may fail.
    alpha : float or "cv", default="cv"
        Ridge: ``alpha * sum(coef**2)`` is added to the summed loss. "cv" compares
        five ridges by the same folds as the size: with squared loss and a kernel of
        ``k(x, x) = 1``, powers of ten from 1e-4 to 1; else those in units of the
        functions' size and the loss's curvature, and larger in proportion where there
        are more than 100 000 rows (``search_`` shows them).
    fit_intercept : bool, default=True
        Whether a constant, not penalised, is always in the model.
    n_candidates : int, float, "auto" or None, default="auto"
        How many random training points (number or share) are candidates. None: all.
        "auto": all up to 10 000, the same ones at every fit; above 50 000 rows fewer,
        down to two for each step, so that their values on all rows are no more than
        5e8.
    redraw_candidates : bool, default=False
        Whether candidates are drawn anew at each step (59 of them unless
        `n_candidates` says otherwise) instead of once.
    max_memory : int, str or None, default=None
        What the fit may use: bytes, or a text such as "1 GiB". None: half of the
        free memory. Kernel values that do not fit are computed again at each pass,
        with the same result.
    dtype : {"float64", "float32"}, default="float64"
        In which kernel values are stored during the fit; sums are always float64.
    tol : float, default=1e-14
        A candidate whose squared norm outside the span of the chosen ones is below
        this share of its squared norm counts as dependent and is passed over.
    <extra>random_state : int, RandomState instance or None, default=None
        Seeds the folds and the random candidates. With None the folds are the same at
        every fit, and random candidates are not.
    n_jobs : int or None, default=None
        Widths compared at a time, in threads, which divide the threads of BLAS and
        `max_memory` among them.
    verbose : int or bool, default=0
        Whether to show a progress bar. Ctrl-C ends the fit with the model found so far
        and a warning; twice within two seconds it also ends what is around the fit,
        such as a grid search."""


def parameters(losses: str, extra: str = "") -> str:
    """Return the description of the parameters, with the losses that there are."""
    return PARAMETERS.replace("<losses>", losses).replace("<extra>", extra)


CLASSIFIER_PARAMETERS = """multiclass : {"shared", "ovr"}, default="shared"
        More than two classes: one set of support points for all, chosen by the summed
        gain (a prediction then costs one kernel row), or one set for each class.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the sample weights, as in SVC. "balanced" makes the sums of the
        classes' sample weights equal: a row of weight 2 counts as two rows there too.
    """

ATTRIBUTES = """support_ : ndarray of shape (n_support,)
        Training rows that were chosen, in the order of their choice; with a
        dictionary in which rows have none or several functions, the chosen functions'
        places in it.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        The points on which these are centred; empty for a precomputed kernel.
    atoms_ : Functions
        The chosen functions: ``atoms_.names`` says what each is, ``atoms_.rows`` on
        which training row it stands (-1 for none), ``atoms_(X)`` are their values.
    dual_coef_ : ndarray of shape (n_outputs, n_support)
        Their coefficients.
    intercept_ : ndarray of shape (n_outputs,)
        The constant.
    n_support_ : int
        The number of support points.
    path_ : Path or SeparatePaths
        Every step: atoms, errors, and the coefficients of any size. With
        ``multiclass="ovr"``, ``path_.paths`` holds one for each class.
    search_ : list of dict
        Every width and ridge compared: ``gamma``, ``alpha``, the mean held-out losses
        (or scores, with their signs turned) at sizes 0, 1, ... as ``errors``, and
        their ``standard_errors`` over folds. They are compared with at most
        2000 candidates (or two for each step), on about 20 000 rows at most and on as
        many of the folds as hold 3000 rows; where that is not all, with "cv" the best
        comes again at the end with all candidates, rows and folds, and the size is
        chosen there.
    gamma_ : float or None
        The kernel's width.
    alpha_ : float
        The ridge.
    selection_ : str or None
        How the size was chosen.
    stop_reason_ : str
        Why the path ends where it does; of a model from ``truncate``, that it was cut.
    n_iter_ : int
        The number of steps on the path, ``len(path_)``.
    n_features_in_ : int
        The number of features.
    feature_names_in_ : ndarray of str
        Their names, where the training data had some."""
