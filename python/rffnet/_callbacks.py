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
    """What is told of a fit while it runs; calling it with an epoch returns whether to stop."""

    def __init__(self, estimator, X, y, epochs):
        self.estimator, self.X, self.y = estimator, X, y
        self.context = None
        if hasattr(estimator, "_skl_callbacks"):
            # Descent knows how many epochs there will be at most; the exact solver does not.
            self.context = estimator._init_callback_context(max_subtasks=epochs)
            self.context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

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
        told = {"estimator": self.estimator, "X": self.X, "y": self.y}
        context.call_on_fit_task_begin(**told)
        metadata = {"epoch": epoch, "train_loss": train_loss, "validation_loss": validation_loss}
        return context.call_on_fit_task_end(**told, metadata=metadata)

    def done(self, fitted):
        """The fit is complete; `fitted` are the attributes an estimator needs to predict."""
        if self.context is not None:
            self.context.call_on_fit_task_end(
                estimator=self.estimator, X=self.X, y=self.y, reconstruction_attributes=fitted
            )
