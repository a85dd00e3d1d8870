"""A model card: what people should know of a model, in Markdown."""

import numpy as np

SHOWN = 20


def model_card(estimator):
    """The card of a fitted estimator."""
    card, plan, summary = estimator._card, estimator._plan, estimator._summary
    names, importance = card["feature_names"], estimator.feature_importances_
    order = np.argsort(-importance, kind="stable")
    facts = [
        ("task", card["task"]),
        ("rows", f"{summary['rows']:,} ({summary['validation_rows']:,} held out)"),
        ("columns", f"{len(names):,}"),
        ("kernel", f"{plan['kernel']}, {estimator.n_random_features_:,} random features"),
        ("loss", plan["loss"]),
        ("solver", f"{plan['solver']} ({summary['epochs']} steps, stopped: {summary['stopped']})"),
        ("seed", str(plan["seed"])),
    ]
    if card["classes"]:
        facts.insert(1, ("classes", ", ".join(card["classes"])))
    if summary["validation_loss"] is not None:
        constant = summary["baseline_loss"]
        beside = "" if constant is None else f", where the best constant has {constant:.4g}"
        facts.append(("validation loss", f"{summary['validation_loss']:.4g}{beside}"))
    lines = [f"# {type(estimator).__name__}", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in facts]
    lines += ["", "## Which columns matter", "", "| column | importance | relevance |", "|---|---|---|"]
    for j in order[:SHOWN]:
        name = names[j].replace("|", "\\|")
        lines.append(f"| {name} | {importance[j]:.4g} | {estimator.relevances_[j]:.4g} |")
    if len(order) > SHOWN:
        lines.append(f"| and {len(order) - SHOWN:,} more | | |")
    lines += [
        "",
        "An importance is the root mean square slope of the model along the standardised column; a relevance is the "
        "inverse length scale of the kernel along it.",
    ]
    if summary["warnings"]:
        lines += ["", "## Warnings", "", *(f"- {warning}" for warning in summary["warnings"])]
    return "\n".join(lines) + "\n"
