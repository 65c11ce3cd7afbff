import "./palette.css";
import { effect } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { visibleLine } from "../../design/index.js";
import { type Command, commandSources } from "../store/index.js";
import { isPaletteOpen } from "./palette-state.js";
import { rankCommands } from "./rank-commands.js";

/**
 * The command palette. The dialog stays in the document and opens in the same turn as its shortcut, so that keys that follow at once
 * are part of the search.
 */
export function Palette(): VNode {
  const isOpen = isPaletteOpen.value;
  const [query, setQuery] = useState("");
  const [index, setIndex] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const commands = useMemo(() => (isOpen ? commandSources.peek().flatMap((source) => source()) : []), [isOpen]);
  const found = useMemo(() => rankCommands(commands, query), [commands, query]);
  const selected = Math.min(index, found.length - 1);

  useLayoutEffect(
    () =>
      effect(() => {
        if (isPaletteOpen.value) dialog.current?.showModal();
        else dialog.current?.close();
      }),
    [],
  );
  useEffect(() => {
    dialog.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [selected]);

  const close = (): void => {
    isPaletteOpen.value = false;
    setQuery("");
    setIndex(0);
  };
  const run = (command: Command | undefined): void => {
    if (command === undefined) return;
    close();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) {
      event.preventDefault();
      setIndex((selected + step + found.length) % found.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(found[selected]);
    }
  };

  return (
    <dialog
      ref={dialog}
      class="palette"
      aria-label="Commands"
      onCancel={close}
      onClose={() => {
        // A browser may close it by itself. It may also be open again by now.
        if (dialog.current?.open === false) close();
      }}
      onMouseDown={(event) => {
        if (event.target === dialog.current) close();
      }}
    >
      <input
        class="palette-input"
        role="combobox"
        aria-expanded="true"
        aria-controls={`${id}-list`}
        aria-activedescendant={found.length === 0 ? undefined : `${id}-${selected}`}
        aria-label="Search or run a command"
        placeholder="Search servers, objects and commands"
        autocomplete="off"
        spellcheck={false}
        value={query}
        onInput={(event) => {
          setQuery(event.currentTarget.value);
          setIndex(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div class="palette-list" role="listbox" id={`${id}-list`} aria-label="Commands">
        {found.map((command, position) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input above handles the keys.
          <div
            key={command.id}
            id={`${id}-${position}`}
            role="option"
            tabIndex={-1}
            aria-selected={position === selected}
            class="palette-option"
            onPointerMove={() => setIndex(position)}
            onClick={() => run(command)}
          >
            <span class="palette-title">{visibleLine(command.title)}</span>
            {command.detail !== undefined && <span class="palette-detail">{visibleLine(command.detail)}</span>}
            <span class="palette-group">{command.key === undefined ? command.group : <kbd>{command.key}</kbd>}</span>
          </div>
        ))}
      </div>
      {isOpen && found.length === 0 && <p class="palette-nothing">Nothing matches “{query}”.</p>}
    </dialog>
  );
}
