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
    /// What is asked for, in words, and whether it is met; `None` when what it is compared with is missing.
    pub targets: Vec<(String, Option<bool>)>,
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

    pub fn all_met(&self) -> bool {
        self.figures.iter().flat_map(|figure| &figure.targets).all(|(_, met)| *met == Some(true))
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
            let targets: Vec<&str> = figure.targets.iter().map(|(target, _)| target.as_str()).collect();
            let met: Vec<&str> = figure
                .targets
                .iter()
                .map(|(_, met)| match met {
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
