//! Sort measurements into bins of equal width and draw a histogram with text.

/// Counts per bin together with the range they cover.
struct Histogram {
    low: f64,
    width: f64,
    counts: Vec<usize>,
}

impl Histogram {
    /// Build a histogram; `None` when there is nothing to count or no bin.
    fn new(values: &[f64], bins: usize) -> Option<Self> {
        if bins == 0 || values.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // Equal values would give a width of zero, so any positive width will do.
        let width = if high > low { (high - low) / bins as f64 } else { 1.0 };
        let mut counts = vec![0; bins];
        for value in values {
            let bin = ((value - low) / width) as usize;
            counts[bin.min(bins - 1)] += 1; // the maximum belongs to the last bin
        }
        Some(Self { low, width, counts })
    }

    /// One line per bin: lower edge, bar and count.
    fn render(&self, longest: usize) -> String {
        let highest = self.counts.iter().copied().max().unwrap_or(0).max(1);
        let mut text = String::new();
        for (bin, &count) in self.counts.iter().enumerate() {
            let edge = self.low + bin as f64 * self.width;
            let bar = "#".repeat(count * longest / highest);
            text.push_str(&format!("{edge:7.2} | {bar} {count}\n"));
        }
        text
    }
}

fn main() {
    // Lengths of bean pods in centimetres.
    let pods = [
        9.1, 10.4, 11.0, 11.2, 11.9, 12.0, 12.3, 12.4, 12.8, 13.1, 13.3, 14.0, 14.2, 15.6, 17.0,
    ];
    match Histogram::new(&pods, 5) {
        Some(histogram) => print!("{}", histogram.render(24)),
        None => eprintln!("nothing to draw"),
    }
}
