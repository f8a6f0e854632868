//! The loop itself: the editor's events, the engine's reports, and time, one after the other.
//!
//! Owns the order in which things happen. Never does anything itself: `on_*` do. It is one task, and may share its thread
//! with those that read engines.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::sync::mpsc;
use tokio::time::{Duration, sleep_until};

use super::inbox::{Event, Events};
use super::ports::EngineReport;
use super::state::App;

/// Events taken in one turn of the loop, so that a flood of tokens is journalled in large rows but a request never
/// waits for more than about this many.
const EVENTS_A_TURN: usize = 256;

/// How long the loop stays awake after a request. An editor that asks often asks again within that time, and being woken
/// takes longer than most answers do; an editor that does not costs this once a request.
const LINGER: Duration = Duration::from_micros(80);

/// Bytes of a report from which on taking it in takes long: milliseconds, in which the engine's next bytes can be read.
const LONG_BYTES: usize = 256 << 10;

/// Runs a step that takes long. Whoever gives the loop its thread lets the other tasks of that thread go on elsewhere
/// meanwhile, or just runs it.
pub(super) type LongStep = fn(&mut dyn FnMut());

/// Runs until the editor's end of the inbox is gone.
pub async fn run(
    mut app: App,
    mut editor: Events,
    mut engine: mpsc::Receiver<EngineReport>,
    long_step: LongStep,
) {
    let mut engine_open = true;
    loop {
        let deadline = app.next_deadline();
        let mut asked = false;
        tokio::select! {
            biased;
            event = editor.recv() => match event {
                Some(event) => {
                    asked = matches!(event, Event::Request { .. });
                    guarded(&mut app, "editor event", |app| app.on_event(event));
                }
                None => break,
            },
            first = engine.recv(), if engine_open => {
                engine_open = first.is_some();
                let (mut next, mut taken) = (first, 0);
                while let Some(report) = next {
                    taken += report.events();
                    if report.bytes() < LONG_BYTES {
                        guarded(&mut app, "engine report", |app| app.on_report(report));
                    } else {
                        let mut report = Some(report);
                        long_step(&mut || {
                            let Some(report) = report.take() else { return };
                            guarded(&mut app, "large engine report", |app| app.on_report(report));
                        });
                    }
                    next = if taken < EVENTS_A_TURN { engine.try_recv().ok() } else { None };
                }
            }
            () = sleep_until(deadline.unwrap_or(app.started)), if deadline.is_some() => {}
        }
        if editor.is_empty() {
            app.publish_scopes();
        }
        guarded(&mut app, "delivery", App::settle);
        if asked {
            linger(&editor, &engine);
        }
    }
    guarded(&mut app, "closing", App::flush_all);
}

/// Stays awake a moment after a request, until something else comes.
fn linger(editor: &Events, engine: &mpsc::Receiver<EngineReport>) {
    // Not the clock of the runtime, which stands still in some tests.
    let begun = std::time::Instant::now();
    while editor.is_empty() && engine.is_empty() && begun.elapsed() < LINGER {
        std::hint::spin_loop();
    }
}

/// A fault in one event must not take the others down: its `Reply` answers `internal` as it is dropped, and the loop
/// goes on.
pub(super) fn guarded(app: &mut App, what: &'static str, step: impl FnOnce(&mut App)) {
    if catch_unwind(AssertUnwindSafe(|| step(app))).is_err() {
        tracing::error!(what, "the loop failed inside on one event and goes on");
    }
}
