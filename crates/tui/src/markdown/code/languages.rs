//! The languages that are known: their comments, texts and keywords.

/// What the lexer has to know about a language.
#[derive(Debug)]
pub(super) struct Language {
    /// Its names after the beginning of a block, in lower case.
    pub(super) names: &'static [&'static str],
    /// What begins a comment up to the end of the line.
    pub(super) line_comments: &'static [&'static str],
    /// Beginning and end of comments of several lines.
    pub(super) comments: &'static [[&'static str; 2]],
    /// Beginning and end of texts of several lines.
    pub(super) texts: &'static [[&'static str; 2]],
    /// Characters around a text within a line.
    pub(super) quotes: &'static str,
    /// Its keywords, separated by blanks.
    pub(super) keywords: &'static str,
    /// Whether keywords may be in capitals.
    pub(super) ignores_case: bool,
    /// Whether it is a list of keys and values.
    pub(super) has_keys: bool,
    /// Whether apostrophes are around single characters.
    pub(super) has_characters: bool,
}

impl Language {
    pub(super) fn is_shell(&self) -> bool {
        self.names.contains(&"sh")
    }

    pub(super) fn is_markup(&self) -> bool {
        self.names.contains(&"html")
    }

    pub(super) fn is_diff(&self) -> bool {
        self.names.contains(&"diff")
    }
}

const C_COMMENTS: &[[&str; 2]] = &[["/*", "*/"]];

const NONE: Language = Language {
    names: &[],
    line_comments: &[],
    comments: &[],
    texts: &[],
    quotes: "\"'",
    keywords: "",
    ignores_case: false,
    has_keys: false,
    has_characters: false,
};
const C_LIKE: Language = Language { line_comments: &["//"], comments: C_COMMENTS, ..NONE };
const HASH: Language = Language { line_comments: &["#"], ..NONE };

/// All of them.
pub(super) const LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        keywords: "as async await break const continue crate dyn else enum extern fn for if impl in let loop match \
                   mod move mut pub ref return static struct super trait type unsafe use where while",
        has_characters: true,
        ..C_LIKE
    },
    Language {
        names: &["python", "py", "python3"],
        texts: &[["\"\"\"", "\"\"\""], ["'''", "'''"]],
        keywords: "and as assert async await break class continue def del elif else except finally for from global \
                   if import in is lambda match nonlocal not or pass raise return try while with yield",
        ..HASH
    },
    Language {
        names: &["javascript", "js", "jsx", "typescript", "ts", "tsx", "mjs", "node"],
        texts: &[["`", "`"]],
        keywords: "abstract any as async await boolean break case catch class const continue declare default delete \
                   do else enum export extends finally for from function get if implements import in instanceof \
                   interface keyof let namespace new number of private protected public readonly return set static \
                   string super switch throw try type typeof var void while yield",
        ..C_LIKE
    },
    Language {
        names: &["go", "golang"],
        texts: &[["`", "`"]],
        keywords: "break case chan const continue default defer else fallthrough for func go goto if import \
                   interface map package range return select struct switch type var",
        ..C_LIKE
    },
    Language {
        names: &[
            "c", "h", "cpp", "c++", "cc", "hpp", "java", "csharp", "cs", "kotlin", "kt", "swift", "scala",
            "dart", "php", "zig",
        ],
        keywords: "abstract alignas alignof as async auto await bool boolean break byte case catch char class comptime \
                   const constexpr continue default defer delete do double else enum error explicit export extends \
                   extern final finally float fn for foreach friend fun func function goto guard if implements import \
                   in inline instanceof int interface internal is let long mutable namespace new noexcept object open \
                   operator override package private protected protocol pub public readonly register return sealed \
                   short signed sizeof static struct super switch synchronized template throw throws trait try type \
                   typedef typename union unsigned use using val var virtual void volatile when where while yield \
                   #define #include #if #ifdef #ifndef #else #endif #pragma",
        has_characters: true,
        ..C_LIKE
    },
    Language {
        names: &["sh", "bash", "shell", "zsh", "console", "fish", "dockerfile", "docker"],
        keywords: "case do done echo elif else esac exit export fi for function if in local read return select set \
                   source then trap unset until while FROM RUN COPY CMD ENTRYPOINT ENV WORKDIR ARG EXPOSE",
        ..HASH
    },
    Language {
        names: &["ruby", "rb", "elixir", "ex", "crystal"],
        keywords: "alias and begin break case class def defmodule defp do else elsif end ensure fn for if in module \
                   next not or require rescue return super then unless until use when while yield",
        ..HASH
    },
    Language {
        names: &["lua"],
        line_comments: &["--"],
        keywords: "and break do else elseif end for function goto if in local not or repeat return then until while",
        ..NONE
    },
    Language {
        names: &["haskell", "hs", "elm"],
        line_comments: &["--"],
        comments: &[["{-", "-}"]],
        keywords: "case class data deriving do else if import in infix instance let module newtype of qualified then \
                   type where",
        has_characters: true,
        ..NONE
    },
    Language {
        names: &["sql", "postgresql", "mysql", "sqlite"],
        line_comments: &["--"],
        comments: C_COMMENTS,
        keywords: "add all alter and as asc begin between by case check column commit constraint create cross default \
                   delete desc distinct drop else end exists foreign from full group having if in index inner insert \
                   into is join key left like limit not null on or order outer primary references returning right \
                   rollback select set table then transaction union unique update using values view when where with",
        ignores_case: true,
        ..NONE
    },
    Language { names: &["json", "jsonc", "json5", "jsonl"], has_keys: true, ..C_LIKE },
    Language {
        names: &["toml", "ini", "conf", "cfg", "properties", "env"],
        line_comments: &["#", ";"],
        texts: &[["\"\"\"", "\"\"\""]],
        has_keys: true,
        ..NONE
    },
    Language { names: &["yaml", "yml"], has_keys: true, ..HASH },
    Language {
        names: &["make", "makefile", "cmake", "just", "nix", "perl", "pl", "r", "julia", "jl"],
        keywords: "begin do else elsif end endif for foreach function if ifdef ifeq import in include inherit let my \
                   next our print rec return struct sub then unless use using while with",
        ..HASH
    },
    Language { names: &["html", "xml", "svg", "vue", "svelte"], comments: &[["<!--", "-->"]], ..NONE },
    Language { names: &["css", "scss", "less"], has_keys: true, comments: C_COMMENTS, ..NONE },
    Language { names: &["diff", "patch"], ..NONE },
];
