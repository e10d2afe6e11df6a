import { Fragment, memo, type ReactNode } from 'react';
import { copyText } from '../term/clipboard';
import { type Block, type Inline, parseMarkdown } from '../text/markdown';
import { IconButton } from './controls';

function inline(nodes: Inline[]): ReactNode[] {
  return nodes.map((node, i) => {
    switch (node.kind) {
      case 'text':
        return <Fragment key={i}>{node.text}</Fragment>;
      case 'code':
        return <code key={i}>{node.text}</code>;
      case 'strong':
        return <strong key={i}>{inline(node.children)}</strong>;
      case 'emphasis':
        return <em key={i}>{inline(node.children)}</em>;
      case 'strike':
        return <s key={i}>{inline(node.children)}</s>;
      case 'link':
        return (
          <a key={i} href={node.href} target="_blank" rel="noopener noreferrer">
            {inline(node.children)}
          </a>
        );
    }
  });
}

export function CodeBlock({ text, language = '' }: { text: string; language?: string }) {
  return (
    <div className="code-block">
      <pre tabIndex={0} role="group" aria-label={language ? `Code, ${language}` : 'Code'}>
        <code>{text}</code>
      </pre>
      <IconButton icon="copy" label="Copy this code" onClick={() => void copyText(text)} />
    </div>
  );
}

function block(node: Block, i: number): ReactNode {
  switch (node.kind) {
    case 'heading':
      // The pane's title is the heading above all in it.
      return (
        <p key={i} className={`md-heading md-heading-${Math.min(node.level, 4)}`} role="heading" aria-level={Math.max(node.level, 2)}>
          {inline(node.children)}
        </p>
      );
    case 'paragraph':
      return <p key={i}>{inline(node.children)}</p>;
    case 'code':
      return <CodeBlock key={i} text={node.text} language={node.language} />;
    case 'quote':
      return <blockquote key={i}>{node.children.map(block)}</blockquote>;
    case 'list': {
      const items = node.items.map((item, at) => <li key={at}>{item.length === 1 && item[0]?.kind === 'paragraph' ? inline(item[0].children) : item.map(block)}</li>);
      return node.ordered ? (
        <ol key={i} start={node.start}>
          {items}
        </ol>
      ) : (
        <ul key={i}>{items}</ul>
      );
    }
    case 'table':
      return (
        <div key={i} className="md-table" tabIndex={0} role="group" aria-label="Table">
          <table>
            <thead>
              <tr>
                {node.head.map((cell, at) => (
                  <th key={at} scope="col">
                    {inline(cell)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {node.rows.map((row, at) => (
                <tr key={at}>
                  {row.map((cell, column) => (
                    <td key={column}>{inline(cell)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case 'rule':
      return <hr key={i} />;
  }
}

/** Text of a model as elements; nothing in it becomes HTML. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return <div className="md">{parseMarkdown(text).map(block)}</div>;
});
