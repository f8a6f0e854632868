//! The table: figures beside their peer, their floor and their target.

use std::fmt;

/// One figure.
pub struct Figure {
    /// What was measured, with its unit.
    pub what: String,
    /// breadboard-ls.
    pub ours: f64,
    /// The better of the Node peers.
    pub peer: Option<f64>,
    /// What the machine gives at best for the same work.
    pub floor: Option<f64>,
    /// What is asked for.
    pub targets: Vec<Target>,
}

/// What is asked of a figure.
pub struct Target {
    /// In words.
    words: String,
    asked: Asked,
}

enum Asked {
    /// A time or a rate: this over the target, so 1 is what is asked for and less is too little. `None` when what it is
    /// compared with is missing.
    Ratio(Option<f64>),
    /// What does not depend on how busy the machine is: a count, or memory.
    Exact(bool),
}

/// How far a ratio may fall below its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slack {
    None,
    /// On a machine that does other things too, or of which nobody knows how fast its memory, loopback and scheduler are beside
    /// its processor: the same build had 0.27 of the floor and 2.75 times the peer on one virtual machine, 0.11 and 1.9 on another. What falls below three
    /// tenths is neither noise nor the machine.
    Shared,
}

impl Target {
    /// The figure must be at least `bound`.
    pub fn at_least(words: impl Into<String>, figure: f64, bound: Option<f64>) -> Self {
        Self { words: words.into(), asked: Asked::Ratio(bound.map(|bound| figure / bound)) }
    }

    /// The figure must be at most `bound`.
    pub fn at_most(words: impl Into<String>, figure: f64, bound: Option<f64>) -> Self {
        Self { words: words.into(), asked: Asked::Ratio(bound.map(|bound| bound / figure)) }
    }

    /// It holds or does not, however busy the machine is.
    pub fn exact(words: impl Into<String>, holds: bool) -> Self {
        Self { words: words.into(), asked: Asked::Exact(holds) }
    }

    /// `None` when what it is compared with is missing.
    fn met(&self, slack: Slack) -> Option<bool> {
        match self.asked {
            Asked::Exact(holds) => Some(holds),
            Asked::Ratio(ratio) => ratio.map(|ratio| match slack {
                Slack::None => ratio >= 1.0,
                Slack::Shared => ratio * 10.0 >= 3.0,
            }),
        }
    }
}

#[derive(Default)]
pub struct Table {
    figures: Vec<Figure>,
}

impl Table {
    pub fn add(&mut self, figure: Figure) {
        eprintln!("{}: {}", figure.what, shown(figure.ours));
        self.figures.push(figure);
    }

    /// The targets that are missed, each in a line. One whose peer or floor is missing is missed.
    pub fn missed(&self, slack: Slack) -> Vec<String> {
        let of = |figure: &Figure| {
            let missed = figure.targets.iter().filter(|target| target.met(slack) != Some(true));
            missed
                .map(|target| {
                    let why = match target.asked {
                        Asked::Ratio(Some(ratio)) => format!("{:.0} % of the target", ratio * 100.0),
                        Asked::Ratio(None) => "what it is compared with is missing".to_owned(),
                        Asked::Exact(_) => "not so".to_owned(),
                    };
                    format!("{}: {}, {}: {why}", figure.what, shown(figure.ours), target.words)
                })
                .collect::<Vec<_>>()
        };
        self.figures.iter().flat_map(of).collect()
    }

    pub fn append(&mut self, other: Self) {
        self.figures.extend(other.figures);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| figure | breadboard-ls | Node peer | ours / peer | floor | ours / floor | target | met |"
        )?;
        writeln!(f, "|---|---:|---:|---:|---:|---:|---|---|")?;
        for figure in &self.figures {
            let over = |other: Option<f64>| {
                other.map_or("-".to_owned(), |other| format!("{:.3}", figure.ours / other))
            };
            let targets: Vec<&str> = figure.targets.iter().map(|target| target.words.as_str()).collect();
            let met: Vec<&str> = figure
                .targets
                .iter()
                .map(|target| match target.met(Slack::None) {
                    Some(true) => "yes",
                    Some(false) => "NO",
                    None => "?",
                })
                .collect();
            writeln!(
                f,
                "| {} | {} | {} | {} | {} | {} | {} | {} |",
                figure.what,
                shown(figure.ours),
                figure.peer.map_or("-".to_owned(), shown),
                over(figure.peer),
                figure.floor.map_or("-".to_owned(), shown),
                over(figure.floor),
                targets.join("; "),
                met.join("; "),
            )?;
        }
        Ok(())
    }
}

fn shown(value: f64) -> String {
    if value >= 1_000.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// The middle of some measurements.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
