"""The documentation of parameters and attributes that estimators share, written once."""

import inspect

PARAMETERS = """\
Parameters
----------
preset : {'auto', 'paper'}, default='auto'
    Where everything that is None comes from: what we think is best today, or the settings of the paper's tables.
solver : {'auto', 'varpro', 'adam', 'sgd', 'palm-adam', 'palm-sgd'}, default='auto'
    'varpro' solves the head exactly and is for the squared and the cross-entropy loss; the others descend, in one block
    or alternating between head and relevances. 'auto' is 'varpro' unless something is set that only descent knows.
loss : str, default=None
    'squared', 'huber' or 'huber:DELTA', 'quantile' or 'quantile:TAU', 'poisson'; 'cross-entropy' for classes.
kernel : {'gaussian', 'laplace', 'cauchy', 'matern32', 'matern52'}, default=None
    The product ARD kernel; None is 'gaussian'.
sampling : {'iid', 'orthogonal'}, default=None
    How frequencies are drawn; 'orthogonal' is for the Gaussian kernel.
init : {'constant', 'restarter', 'regressor', 'varpro'}, default=None
    Where the relevances start (descent). None: 'constant', but 'varpro' for losses that the solver 'varpro' does not know.
n_restarts : int, default=None
    Random starts that `init='restarter'` tries, ten epochs each; None is 10.
n_random_features : int, default=None
    Random features of each member of the ensemble. None: chosen from the shape of the data; 300 with descent.
alpha : float, default=None
    Strength of the penalty on the head. None: chosen on validation rows; 1e-5 with descent, 0.1 in the paper's preset.
penalty : {'l2', 'l1', 'elastic-net', 'none'}, default=None
    Its shape.
alpha_theta : float, default=None
    Strength of a penalty on the relevances (descent).
penalty_theta : {'l2', 'l1', 'elastic-net', 'none'}, default=None
    Its shape; 'l1' if `alpha_theta` is given.
l1_ratio : float, default=None
    Share of l1 in elastic nets; None is 0.5.
lr : float, default=None
    Learning rate (descent).
schedule : {'constant', 'one-cycle', 'cosine'}, default=None
    How the learning rate changes (descent).
batch_size : int, default=None
    Rows per step (descent).
max_iter : int, default=None
    Epochs of descent, or steps per penalty with 'varpro', at most.
early_stopping : {'auto', True, False}, default='auto'
    Whether rows are held out to choose by. False holds none out; the others hold out `validation_fraction`.
n_iter_no_change : int, default=None
    Epochs without improvement before the fit stops (descent).
validation_fraction : float, default=None
    Share of the rows that is held out; None is 0.1.
missing : {'auto', 'error', 'mean'}, default='auto'
    What to do with gaps (NaN, None, NaT, NA): read them as the column's mean and, where they are common, add an indicator of
    them; refuse them; or the mean alone.
categorical_features : 'from_dtype', None or array-like of bool, int or str, default='from_dtype'
    Which columns are categories: those of texts and of categorical dtypes; none; or a mask, the indices or the names of
    them. Truth values and dates are told by their dtypes in any case.
spectrum : {'fixed', 'learned', 'auto'}, default=None
    Whether frequencies are learned too (varpro).
linear : bool, default=None
    Linear terms beside the random features (varpro); None is True.
committee : int, default=None
    Members of the ensemble, whose predictions are averaged (varpro); None is 3, 6 or 13 by effort, and 1 where little is
    left to explain.
partitions : int, 'auto' or 'none', default=None
    Partitions of the rows into cells beside the random features of each member, for what steps (varpro): so many, none, or
    as many as the rows suggest if validation rows are predicted better with them; None is 'auto'.
effort : {'quick', 'normal', 'thorough'}, default=None
    How much work to do (varpro): about a third of normal, or about four times as much.
budget : float, default=None
    Seconds that a fit may take (varpro): it does less where all would take longer, and stops with what there is.
recipe : str, default=None
    Changes of the default algorithm's constants (varpro), as in 'members=8,judge_errors=2'; None changes nothing.
warm_start : bool, default=False
    Whether `fit` goes on from the model of the last `fit` (descent).
random_state : int, RandomState instance or None, default=0
    One seed for all random choices. An integer gives the same model every time, on any number of threads.
n_jobs : int, default=None
    Threads. None is all cores, or what `RAYON_NUM_THREADS` or `OMP_NUM_THREADS` says; -1 is all cores.
verbose : int, default=0
    Whether to print the losses after every epoch.
"""

ATTRIBUTES = """\
Attributes
----------
relevances_ : ndarray of shape (n_features_in_,)
    |theta|, the inverse length scale of each standardised column, averaged over the members of the ensemble; the largest,
    where a column is encoded as several.
feature_importances_ : ndarray of shape (n_features_in_,)
    The root mean square slope of the model along each standardised column; the better figure to compare columns by.
coef_ : ndarray of shape (n_features_in_,)
    The same with the sign of the linear term.
head_ : ndarray of shape (n_outputs, n_members * n_random_features_)
    Coefficients of the random features.
linear_ : ndarray of shape (n_outputs, n_encoded_columns)
    Coefficients of the transformed columns, as `encode` has them.
intercept_ : ndarray of shape (n_outputs,)
    Constant terms.
n_iter_ : int
    Epochs, or steps, made.
stopped_ : str
    Why the fit ended: 'epochs', 'patience', 'converged', 'budget', 'interrupted', 'constant-target' or 'diverged'.
history_ : dict of lists
    'epoch', 'train_loss', 'validation_loss' and, unless the model was read from a file, 'relevances'.
validation_loss_ : float or None
    Loss on the held-out rows, in units of the target.
n_random_features_ : int
    Random features of each member of the ensemble.
column_types_ : list of str
    What each column holds: 'number', 'boolean', 'category' or 'date'.
n_features_in_ : int
    Columns.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Their names, if the data had names.
"""


def documented(cls):
    """Fills `{parameters}` and `{attributes}` of a class's documentation."""
    text = inspect.cleandoc(cls.__doc__)
    cls.__doc__ = text.replace("{parameters}\n", PARAMETERS).replace("{attributes}\n", ATTRIBUTES)
    return cls
