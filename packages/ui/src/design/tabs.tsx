import "./tabs.css";
import type { VNode } from "preact";
import { useRef } from "preact/hooks";

export interface TabsProps<Key extends string> {
  /** What the tabs choose between, for screen readers. */
  readonly label: string;
  readonly tabs: readonly { readonly key: Key; readonly title: string; readonly count?: number | undefined }[];
  readonly selected: Key;
  readonly onSelect: (key: Key) => void;
}

/** A row of tabs. The arrow keys move between them. The content below belongs to the caller. */
export function Tabs<Key extends string>({ label, tabs, selected, onSelect }: TabsProps<Key>): VNode {
  const list = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const index = tabs.findIndex(({ key }) => key === selected);
    const next = (index + step + tabs.length) % tabs.length;
    onSelect(tabs[next]!.key);
    list.current?.querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={move}>
      {tabs.map(({ key, title, count }) => (
        <button
          key={key}
          type="button"
          role="tab"
          class="tab"
          aria-selected={key === selected}
          tabIndex={key === selected ? 0 : -1}
          onClick={() => onSelect(key)}
        >
          {title}
          {count !== undefined && <span class="tab-count">{count}</span>}
        </button>
      ))}
    </div>
  );
}
