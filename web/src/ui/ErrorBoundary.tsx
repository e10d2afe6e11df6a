import { Component, type ReactNode } from 'react';
import { EmptyState } from './controls';

/** Keeps a fault in one view from taking down the page, and the terminals beside it. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { failure: string | null }> {
  override state: { failure: string | null } = { failure: null };

  static getDerivedStateFromError(error: unknown): { failure: string } {
    return { failure: error instanceof Error ? error.message : String(error) };
  }

  override render(): ReactNode {
    if (this.state.failure === null) return this.props.children;
    return (
      <EmptyState title="This view has failed">
        <p>{this.state.failure}</p>
        <button type="button" className="button" onClick={() => this.setState({ failure: null })}>
          Try again
        </button>
      </EmptyState>
    );
  }
}
