//! Commands that begin with a slash.

/// What `/help` says.
pub(super) const HELP: &str = "\
/new             begin another session
/sessions        list this directory's sessions
/resume NAME     go to another session
/clear           forget what was said
/save [TITLE]    save this session
/stop            stop the answer (Ctrl+C)
/agent [NAME]    let another agent answer, or list them
/model NAME      use another model
/tools           show the last tool in full (Ctrl+O)
/takeover        own this session, if somebody else does
/quit            leave; the session stays (Ctrl+D)
//TEXT           say something that begins with a slash";

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

/// What a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TypedLine {
    Command(SlashCommand),
    /// For the agent.
    Prompt(String),
    /// A command that there is not, or that lacks something.
    Wrong(String),
}

/// Tells commands from what is said to the agent.
pub(super) fn parse(text: &str) -> TypedLine {
    let Some(rest) = text.trim().strip_prefix('/') else { return TypedLine::Prompt(text.to_owned()) };
    // Whoever pastes a path or several lines does not mean a command.
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
                "there is no command /{verb}; /help lists them, //{rest} says it"
            ));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_prompts() {
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
            assert!(HELP.contains(&format!("/{}", verb.split(' ').next().unwrap())), "{verb}");
        }
    }
}
