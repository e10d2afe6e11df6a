//! The plugin of opencode: a file that is ours alone.

use super::HookState;

/// The first line, by which the file is recognised.
const MARK: &str =
    "// Reports the state of opencode to Switchboard; written by `swb integration install opencode`.";

/// What stands for the program in the source.
const PROGRAM: &str = "__SWB__";

const SOURCE: &str = include_str!("opencode.js");

/// The plugin that calls `program`; an error if a file that is not ours is in its place.
pub(super) fn write(text: &str, program: &str) -> Result<String, String> {
    check(text)?;
    let program = serde_json::to_string(program).map_err(|error| error.to_string())?;
    Ok(format!("{MARK}\n{}", SOURCE.replace(PROGRAM, &program)))
}

/// Nothing is left of it.
pub(super) fn remove(text: &str) -> Result<String, String> {
    check(text).map(|()| String::new())
}

pub(super) fn state(text: &str, program: &str) -> Result<HookState, String> {
    check(text)?;
    Ok(match write("", program)? == text {
        true => HookState::Installed,
        false if text.trim().is_empty() => HookState::Missing,
        false => HookState::Outdated,
    })
}

fn check(text: &str) -> Result<(), String> {
    match text.trim().is_empty() || text.starts_with(MARK) {
        true => Ok(()),
        false => Err("it is not the plugin of swb; move it away first".to_owned()),
    }
}
