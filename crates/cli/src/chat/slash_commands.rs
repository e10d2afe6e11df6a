//! Commands that begin with a slash.

/// The commands with what they do, as `/help` and the completion list them.
pub(super) const COMMANDS: [(&str, &str); 12] = [
    ("/new", "start another conversation"),
    ("/sessions", "list this directory's conversations"),
    ("/resume NAME", "continue another conversation"),
    ("/clear", "clear the conversation"),
    ("/save [TITLE]", "save this conversation"),
    ("/stop", "stop the answer (Ctrl+C)"),
    ("/agent [NAME]", "choose another agent, or list the agents"),
    ("/model NAME", "use another model"),
    ("/tools", "show the last tool call in full (Ctrl+O)"),
    ("/takeover", "become the owner of this conversation"),
    ("/help", "list the commands"),
    ("/quit", "exit and keep the conversation (Ctrl+D)"),
];

/// What the keys do, as `/help` lists them.
const KEYS: [(&str, &str); 4] = [
    ("//TEXT", "send a message that begins with a slash"),
    ("Tab", "complete a command"),
    ("Ctrl+R", "search all earlier messages"),
    ("Enter", "send; while the agent answers, queue the message (Esc takes it back)"),
];

/// The text of `/help`.
pub(super) fn help() -> String {
    COMMANDS.iter().chain(&KEYS).map(|(usage, about)| format!("{usage:<16} {about}\n")).collect()
}

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SlashCommand {
    Agent(String),
    Agents,
    Clear,
    Help,
    Model(String),
    New,
    Quit,
    Resume(String),
    Save(Option<String>),
    Sessions,
    Stop,
    Takeover,
    Tools,
}

/// A parsed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TypedLine {
    Command(SlashCommand),
    /// A message for the agent.
    Prompt(String),
    /// An unknown command, or one without its argument.
    Wrong(String),
}

/// Distinguishes commands from messages for the agent.
pub(super) fn parse(text: &str) -> TypedLine {
    let Some(rest) = text.trim().strip_prefix('/') else { return TypedLine::Prompt(text.to_owned()) };
    // A pasted path or text of several lines is not a command.
    if rest.starts_with('/') {
        return TypedLine::Prompt(rest.to_owned());
    }
    if rest.contains('\n') {
        return TypedLine::Prompt(text.to_owned());
    }
    let (verb, argument) = rest.split_once(' ').unwrap_or((rest, ""));
    let argument = argument.trim();
    let named = |command: fn(String) -> SlashCommand| match argument {
        "" => TypedLine::Wrong(format!("/{verb} needs a name")),
        name => TypedLine::Command(command(name.to_owned())),
    };
    TypedLine::Command(match verb {
        "agent" | "agents" if argument.is_empty() => SlashCommand::Agents,
        "agent" => return named(SlashCommand::Agent),
        "model" => return named(SlashCommand::Model),
        "resume" | "load" => return named(SlashCommand::Resume),
        "clear" => SlashCommand::Clear,
        "exit" | "q" | "quit" => SlashCommand::Quit,
        "help" | "?" => SlashCommand::Help,
        "new" => SlashCommand::New,
        "save" => SlashCommand::Save(Some(argument.to_owned()).filter(|title| !title.is_empty())),
        "sessions" => SlashCommand::Sessions,
        "stop" => SlashCommand::Stop,
        "takeover" => SlashCommand::Takeover,
        "tool" | "tools" => SlashCommand::Tools,
        _ => {
            return TypedLine::Wrong(format!(
                "unknown command /{verb}; /help lists them; //{rest} sends it as a message"
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_distinguished_from_prompts() {
        assert_eq!(parse("/save My title "), TypedLine::Command(SlashCommand::Save(Some("My title".into()))));
        assert_eq!(parse("/save"), TypedLine::Command(SlashCommand::Save(None)));
        assert_eq!(parse("/agent claude"), TypedLine::Command(SlashCommand::Agent("claude".into())));
        assert_eq!(parse("/agent"), TypedLine::Command(SlashCommand::Agents));
        assert!(
            matches!(parse("/model"), TypedLine::Wrong(_))
                && matches!(parse("/usr/bin"), TypedLine::Wrong(_))
        );
        assert_eq!(parse("//compact"), TypedLine::Prompt("/compact".into()));
        assert_eq!(parse("a /b"), TypedLine::Prompt("a /b".into()));
        assert_eq!(parse("/a\nb"), TypedLine::Prompt("/a\nb".into()));
    }

    #[test]
    fn help_lists_every_command() {
        for verb in [
            "new", "sessions", "resume x", "clear", "save", "stop", "agent x", "model x", "tools",
            "takeover", "quit",
        ] {
            assert!(matches!(parse(&format!("/{verb}")), TypedLine::Command(_)), "{verb}");
            assert!(help().contains(&format!("/{}", verb.split(' ').next().unwrap())), "{verb}");
        }
    }
}
