//! The progress of a fit on the terminal, and Ctrl-C.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rffnet::{Observer, Progress, SolverKind};

use crate::failure::say;
use crate::text::{number, seconds};

/// The exit status of a process that Ctrl-C ended.
pub(crate) const INTERRUPTED: i32 = 130;
/// Redrawing more often than this only flickers.
const PAUSE: Duration = Duration::from_millis(100);
/// Back to the start of the line, and clear it.
pub(crate) const CLEAR: &str = "\r\x1b[K";

/// What a fit is made of: the word for what an observer is told of.
pub(crate) fn step(solver: SolverKind) -> &'static str {
    if solver == SolverKind::Varpro { "step" } else { "epoch" }
}

/// Draws one line on the terminal and ends the fit when Ctrl-C was pressed.
pub(crate) struct ProgressBar {
    interrupted: Arc<AtomicBool>,
    begun: Instant,
    drawn: Option<Instant>,
    visible: bool,
    /// `epoch` or `step`.
    step: &'static str,
}

impl ProgressBar {
    /// From here on the first Ctrl-C ends the fit after its epoch or step; the second ends the process.
    pub(crate) fn new(quiet: bool, step: &'static str) -> Self {
        let interrupted = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&interrupted);
        let visible = !quiet && io::stderr().is_terminal();
        let handler = move || {
            if flag.swap(true, Ordering::SeqCst) {
                std::process::exit(INTERRUPTED);
            }
            if !quiet {
                let clear = if visible { CLEAR } else { "" };
                say(format_args!(
                    "{clear}stopping after this {step} and keeping the best (Ctrl-C again: stop at once)"
                ));
            }
        };
        // Without a handler Ctrl-C ends the process at once, which is worse, but no reason not to fit.
        let _ = ctrlc::set_handler(handler);
        Self { interrupted, begun: Instant::now(), drawn: None, visible, step }
    }

    fn draw(&mut self, progress: &Progress) {
        let now = Instant::now();
        if self.drawn.is_some_and(|last| now - last < PAUSE) {
            return;
        }
        self.drawn = Some(now);
        let line = line(progress, self.step, self.begun.elapsed().as_secs_f64());
        let width = terminal_size::terminal_size_of(io::stderr()).map_or(80, |(w, _)| usize::from(w.0));
        let line: String = line.chars().take(width.saturating_sub(1)).collect();
        let mut out = io::stderr();
        let _ = write!(out, "{CLEAR}{line}").and_then(|()| out.flush());
    }
}

/// `epoch 12/60  loss 0.0831  validation 0.0790  3 s left`, or `learned frequencies  43 %  loss ...`: how many steps there
/// will be is not known.
fn line(progress: &Progress, step: &str, elapsed: f64) -> String {
    let validation =
        progress.validation_loss.map_or(String::new(), |v| format!("  validation {}", number(v)));
    let left = progress.done.filter(|&done| done > 0.0).map_or(String::new(), |done| {
        let left = elapsed * (1.0 - done) / done;
        format!("  {} left", if left < 10.0 { format!("{left:.0} s") } else { seconds(left) })
    });
    let at = if step == "step" {
        let done = progress.done.map_or(String::new(), |done| format!("  {:.0} %", 100.0 * done));
        format!("{}{done}", progress.stage)
    } else {
        format!("{step} {}/{}", progress.epoch, progress.epochs)
    };
    format!("{at}  loss {}{validation}{left}", number(progress.train_loss))
}

impl Observer for ProgressBar {
    fn epoch(&mut self, progress: &Progress) -> ControlFlow<()> {
        if self.visible {
            self.draw(progress);
        }
        if self.interrupted.load(Ordering::SeqCst) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

impl Drop for ProgressBar {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            let mut out = io::stderr();
            let _ = write!(out, "{CLEAR}").and_then(|()| out.flush());
        }
    }
}
