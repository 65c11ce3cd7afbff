import "./header.css";
import type { VNode } from "preact";
import { duration, Icon, StateMark, type Tone } from "../design/index.js";
import { isPaletteOpen } from "./palette/palette-state.js";
import { Link } from "./routing/index.js";
import {
  type ConnectionState,
  chosenTime,
  connection,
  isRecordedTarget,
  recording,
  session,
  timeRange,
} from "./store/index.js";

const marks: Readonly<Record<ConnectionState, readonly [tone: Tone, word: string]>> = {
  connecting: ["connecting", "connecting"],
  live: ["ready", "live"],
  reconnecting: ["failing", "reconnecting"],
  waiting: ["waiting", "waiting"],
  ended: ["waiting", "signed out"],
};

const past: readonly [tone: Tone, word: string] = ["waiting", "in the past"];

/** When a recorded target was recorded, and how long; undefined for live data, or without a connection. */
function recordedText(): string | undefined {
  const range = timeRange.value;
  if (!isRecordedTarget.value || range === undefined || connection.value !== "live") return undefined;
  return `recorded ${new Date(range.firstMs).toLocaleString()}, ${duration(range.lastMs - range.firstMs)}`;
}

/** The name of the gateway or process, whether the page is live, and the button that opens the palette. */
export function Header(): VNode {
  const [tone, word] = chosenTime.value === undefined && recordedText() === undefined ? marks[connection.value] : past;
  const { title, kind } = session.value ?? {};
  const what = kind === "gateway" ? "gateway" : isRecordedTarget.value ? "recording" : "process";
  return (
    <header class="header">
      <Link to="/" class="header-name">
        wirescope
      </Link>
      {title !== undefined && (
        <span class="header-title" title={title}>
          <span class="soft">{what}</span> {title}
        </span>
      )}
      <StateMark tone={tone}>
        {recording.value !== undefined ? `recording ${recording.value.name}` : (recordedText() ?? word)}
      </StateMark>
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
