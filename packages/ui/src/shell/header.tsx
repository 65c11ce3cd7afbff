import "./header.css";
import type { VNode } from "preact";
import { Icon, StateMark, type Tone } from "../design/index.js";
import { isPaletteOpen } from "./palette/palette-state.js";
import { Link } from "./routing/index.js";
import { type ConnectionState, chosenTime, connection, recording, session } from "./store/index.js";

const marks: Readonly<Record<ConnectionState, readonly [tone: Tone, word: string]>> = {
  connecting: ["connecting", "connecting"],
  live: ["ready", "live"],
  reconnecting: ["failing", "reconnecting"],
  waiting: ["waiting", "waiting"],
  ended: ["waiting", "signed out"],
};

const past: readonly [tone: Tone, word: string] = ["waiting", "in the past"];

/** The name of the gateway or process, whether the page is live, and the button that opens the palette. */
export function Header(): VNode {
  const [tone, word] = chosenTime.value === undefined ? marks[connection.value] : past;
  const { title, kind } = session.value ?? {};
  return (
    <header class="header">
      <Link to="/" class="header-name">
        wirescope
      </Link>
      {title !== undefined && (
        <span class="header-title" title={title}>
          <span class="soft">{kind === "gateway" ? "gateway" : "process"}</span> {title}
        </span>
      )}
      <StateMark tone={tone}>{recording.value === undefined ? word : `recording ${recording.value.name}`}</StateMark>
      <button
        type="button"
        class="header-search"
        onClick={() => {
          isPaletteOpen.value = true;
        }}
      >
        <Icon name="search" size={14} />
        <span>Search or run a command</span>
        <kbd>{navigator.platform.startsWith("Mac") ? "⌘K" : "Ctrl K"}</kbd>
      </button>
    </header>
  );
}
