//! What begins with a slash.

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
pub(super) enum Command {
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
pub(super) enum Said {
    Command(Command),
    /// For the agent.
    Prompt(String),
    /// A command that there is not, or that lacks something.
    Wrong(String),
}

/// Tells commands from what is said to the agent.
pub(super) fn parse(text: &str) -> Said {
    let Some(rest) = text.trim().strip_prefix('/') else { return Said::Prompt(text.to_owned()) };
    // Whoever pastes a path or several lines does not mean a command.
    if rest.starts_with('/') {
        return Said::Prompt(rest.to_owned());
    }
    if rest.contains('\n') {
        return Said::Prompt(text.to_owned());
    }
    let (verb, argument) = rest.split_once(' ').unwrap_or((rest, ""));
    let argument = argument.trim();
    let named = |command: fn(String) -> Command| match argument {
        "" => Said::Wrong(format!("/{verb} needs a name")),
        name => Said::Command(command(name.to_owned())),
    };
    Said::Command(match verb {
        "agent" | "agents" if argument.is_empty() => Command::Agents,
        "agent" => return named(Command::Agent),
        "model" => return named(Command::Model),
        "resume" | "load" => return named(Command::Resume),
        "clear" => Command::Clear,
        "exit" | "q" | "quit" => Command::Quit,
        "help" | "?" => Command::Help,
        "new" => Command::New,
        "save" => Command::Save(Some(argument.to_owned()).filter(|title| !title.is_empty())),
        "sessions" => Command::Sessions,
        "stop" => Command::Stop,
        "takeover" => Command::Takeover,
        "tool" | "tools" => Command::Tools,
        _ => return Said::Wrong(format!("there is no command /{verb}; /help lists them, //{rest} says it")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_prompts() {
        assert_eq!(parse("/save My title "), Said::Command(Command::Save(Some("My title".into()))));
        assert_eq!(parse("/save"), Said::Command(Command::Save(None)));
        assert_eq!(parse("/agent claude"), Said::Command(Command::Agent("claude".into())));
        assert_eq!(parse("/agent"), Said::Command(Command::Agents));
        assert!(matches!(parse("/model"), Said::Wrong(_)) && matches!(parse("/usr/bin"), Said::Wrong(_)));
        assert_eq!(parse("//compact"), Said::Prompt("/compact".into()));
        assert_eq!(parse("a /b"), Said::Prompt("a /b".into()));
        assert_eq!(parse("/a\nb"), Said::Prompt("/a\nb".into()));
    }

    #[test]
    fn help_lists_every_command() {
        for verb in [
            "new", "sessions", "resume x", "clear", "save", "stop", "agent x", "model x", "tools",
            "takeover", "quit",
        ] {
            assert!(matches!(parse(&format!("/{verb}")), Said::Command(_)), "{verb}");
            assert!(HELP.contains(&format!("/{}", verb.split(' ').next().unwrap())), "{verb}");
        }
    }
}
