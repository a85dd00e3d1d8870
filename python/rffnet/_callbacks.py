"""scikit-learn's callbacks (1.9 and newer), and `verbose`."""

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    # Calls between a user's `fit` and `_train`, for warnings to point at the former; one more with the decorator.
    STACK = 4
except ImportError:  # scikit-learn before 1.9 has no callbacks
    STACK = 3

    class CallbackSupportMixin:
        """Nothing to support."""

    def with_callbacks(method):
        """Nothing to tear down."""
        return method


__all__ = ["STACK", "CallbackSupportMixin", "Watch", "with_callbacks"]


class Watch:
    """What is told of a fit while it runs; calling it with an epoch returns whether to stop.

    Callbacks find the losses so far in the estimator's `history_`.
    """

    def __init__(self, estimator, X, y, weight, epochs):
        self.estimator, self.context = estimator, None
        self.told = {"estimator": estimator, "X": X, "y": y}
        if weight is not None:
            self.told["metadata"] = {"sample_weight": weight}
        if hasattr(estimator, "_skl_callbacks"):
            # Descent knows how many epochs there will be at most; the exact solver does not.
            self.context = estimator._init_callback_context(max_subtasks=epochs)
            self.context.call_on_fit_task_begin(**self.told)
            estimator.history_ = {"epoch": [], "train_loss": [], "validation_loss": []}

    @property
    def callback(self):
        """Itself if anybody listens, else None, which costs nothing."""
        return self if self.context is not None or self.estimator.verbose else None

    def __call__(self, epoch, epochs, train_loss, validation_loss):
        if self.estimator.verbose:
            held_out = "" if validation_loss is None else f"  validation {validation_loss:.6g}"
            print(f"epoch {epoch}/{epochs}  loss {train_loss:.6g}{held_out}", flush=True)
        if self.context is None:
            return False
        context = self.context.subcontext(task_name="epoch")
        context.call_on_fit_task_begin(**self.told)
        history = self.estimator.history_
        history["epoch"].append(epoch)
        history["train_loss"].append(train_loss)
        history["validation_loss"].append(validation_loss)
        return context.call_on_fit_task_end(**self.told)

    def done(self, fitted):
        """The fit is complete; `fitted` makes the attributes an estimator needs to predict."""
        if self.context is not None:
            self.context.call_on_fit_task_end(**self.told, reconstruction_attributes=fitted)
