interface Option {
  id: string;
  label: string;
  kind?: string;
}

interface DecisionProps {
  options: readonly Option[];
  disabled?: boolean;
  /** `approved` is undefined for an option that is neither yes nor no. */
  onDecide(approved: boolean | undefined, option?: string): void;
}

const FALLBACK: Option[] = [
  { id: '', label: 'Allow', kind: 'allow_once' },
  { id: '', label: 'Deny', kind: 'reject_once' },
];

/** The option that a plain yes or no means: the one that applies to this request only. */
export function defaultOption(options: readonly Option[], approved: boolean): Option | undefined {
  const kind = approved ? 'allow' : 'reject';
  return options.find((option) => option.kind === `${kind}_once`) ?? options.find((option) => option.kind?.startsWith(kind));
}

function approves(option: Option): boolean | undefined {
  if (option.kind?.startsWith('allow')) return true;
  return option.kind?.startsWith('reject') ? false : undefined;
}

/** The buttons of an approval. The one that allows once is the main one; its key and the one for no are shown. */
export function Decision({ options, disabled = false, onDecide }: DecisionProps) {
  const shown = options.length > 0 ? options : FALLBACK;
  const yes = defaultOption(shown, true);
  const no = defaultOption(shown, false);
  return (
    <div className="decision">
      {shown.map((option) => (
        <button
          key={option.id || option.label}
          type="button"
          className={option === yes ? 'button button-primary' : 'button'}
          disabled={disabled}
          onClick={() => onDecide(approves(option), option.id || undefined)}
        >
          {option.label}
          {option === yes ? <kbd>y</kbd> : option === no ? <kbd>n</kbd> : null}
        </button>
      ))}
    </div>
  );
}
