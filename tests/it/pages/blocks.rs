//! The commands of a page.

/// A block of commands.
pub(super) struct Block {
    /// The line of the page where the block begins, from 1.
    pub(super) line: usize,
    pub(super) text: String,
    is_console: bool,
    /// The reason, if the block does not run.
    not_run: Option<String>,
}

/// Commands that run as one.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) line: usize,
    pub(super) command: String,
    /// The output in the page; `None` for a script.
    pub(super) shown: Option<String>,
}

impl Block {
    pub(super) fn is_run(&self) -> bool {
        self.not_run.is_none()
    }

    /// Returns a console's commands, each with the lines after it, or a script as one step.
    pub(super) fn steps(&self) -> Vec<Step> {
        if !self.is_console {
            return vec![Step { line: self.line, command: self.text.clone(), shown: None }];
        }
        let mut steps: Vec<Step> = Vec::new();
        for (n, line) in self.text.lines().enumerate() {
            match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => {
                    let (command, shown) = (command.to_owned(), Some(String::new()));
                    steps.push(Step { line: self.line + 1 + n, command, shown });
                }
                (None, Some(step))
                    if step.shown.as_ref().is_some_and(String::is_empty) && goes_on(&step.command) =>
                {
                    step.command = format!("{}\n{line}", step.command);
                }
                (None, Some(Step { shown: Some(shown), .. })) => {
                    shown.push_str(line);
                    shown.push('\n');
                }
                (None, _) => panic!("line {}: a console begins with a command", self.line + 1 + n),
            }
        }
        steps
    }
}

/// Returns true if the next line belongs to the command: the line ends in a backslash, or a text up
/// to `END` has begun.
fn goes_on(command: &str) -> bool {
    command.ends_with('\\') || command.contains("<<'END'") && !command.ends_with("\nEND")
}

/// Returns all blocks of commands, in the order of the page.
pub(super) fn blocks(name: &str, page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().enumerate();
    let mut before = "";
    while let Some((n, line)) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```") else {
            if !line.trim().is_empty() {
                before = line;
            }
            continue;
        };
        let text: Vec<&str> = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| !line.trim_start().starts_with("```"))
            .collect();
        let text: String = text.iter().map(|line| format!("{line}\n")).collect();
        let why = before.trim().strip_prefix("<!-- not run: ").and_then(|rest| rest.strip_suffix(" -->"));
        match language {
            "console" | "sh" => {
                let is_console = language == "console";
                blocks.push(Block { line: n + 1, text, is_console, not_run: why.map(str::to_owned) });
            }
            _ => assert!(!text.starts_with("$ "), "{name}:{}: commands stand in `console` or `sh`", n + 1),
        }
        before = "";
    }
    blocks
}

/// Returns the anchor of a heading: lower case, without signs, with a hyphen for each space.
pub(super) fn anchor(line: &str) -> Option<String> {
    let heading = line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))?;
    let sign = |c: char| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || matches!(c, '-' | '_') => Some(c),
        _ => None,
    };
    Some(heading.to_lowercase().chars().filter_map(sign).collect())
}
