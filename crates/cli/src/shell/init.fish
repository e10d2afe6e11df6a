# swb's shell integration for fish: swb init fish | source, at the end of ~/.config/fish/config.fish.
# Completion of swb's arguments; OSC 133 around the prompt and the output of commands; OSC 7 with the working directory.
if status is-interactive; and not set -q __swb_init
    set -g __swb_init 1
    command swb completions fish 2>/dev/null | source
    if not contains -- "$TERM" '' dumb linux
        function __swb_report_directory --on-variable PWD
            printf '\e]7;file://%s%s\a' $hostname (string escape --style=url -- $PWD)
        end
        __swb_report_directory
        # From version 4 on, fish marks prompts itself.
        if test (string split -m1 . -- $version)[1] -lt 4
            function __swb_before_prompt --on-event fish_prompt
                printf '\e]133;A\a'
            end
            function __swb_before_command --on-event fish_preexec
                printf '\e]133;C\a'
            end
            function __swb_after_command --on-event fish_postexec
                printf '\e]133;D;%s\a' $status
            end
            if functions -q fish_prompt
                functions --copy fish_prompt __swb_user_prompt
                function fish_prompt
                    # First, so that it finds the exit codes of the last command.
                    __swb_user_prompt
                    printf '\e]133;B\a'
                end
            end
        end
    end
end
