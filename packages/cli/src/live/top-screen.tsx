import { printableText } from "@wirescope/channelz/internal/text";
import type { ObjectKey, Snapshot, Timeline } from "@wirescope/channelz/timeline";
import { Box, render, Text, useApp, useInput, useStdout } from "ink";
import { type ReactNode, useEffect, useState } from "react";
import { createPalette } from "../output/screen.js";
import { renderTable } from "../output/table.js";
import type { LiveHistory } from "./live-task.js";
import { objectLines } from "./object-lines.js";
import { createPlayer, type Player, type Reading } from "./player.js";
import { arrangeRows, labelOf, type TopOrder, type TopRow, topOrders, topRows } from "./top-rows.js";
import { topColumns, topHeadline } from "./top-table.js";

interface TopOptions {
  readonly sampler: LiveHistory;
  readonly order: TopOrder;
  readonly filter: string;
  readonly signal: AbortSignal;
}

/** Shows the live view on the whole terminal, until the user quits or the signal aborts. */
export async function showTop(options: TopOptions): Promise<void> {
  // The alternate screen: the previous content of the terminal reappears afterwards.
  process.stdout.write("\u001b[?1049h");
  try {
    const app = render(<Top {...options} />, { exitOnCtrlC: true, patchConsole: false });
    const onAbort = (): void => app.unmount();
    options.signal.addEventListener("abort", onAbort, { once: true });
    await app.waitUntilExit();
    options.signal.removeEventListener("abort", onAbort);
  } finally {
    process.stdout.write("\u001b[?1049l");
  }
}

const help = [
  "up, down, j, k   select a row         Enter   open the object",
  "PgUp, PgDn       move by a screen     Escape  go back, or clear the filter",
  "s                change the order     /       filter by name, target or origin",
  "p or space       pause                q       quit",
];

const recordingHelp = [
  "left, right      previous, next read  [, ]    a minute back, forward",
  "g, G             start, end           +, -    play faster, slower",
];

/** Everything on the screen. */
function Top({ sampler, order: firstOrder, filter: firstFilter }: TopOptions): ReactNode {
  const { exit } = useApp();
  const { rows: height, columns: width } = useTerminalSize();
  const [isPaused, setPaused] = useState(false);
  const { reading, player, speed, setSpeed, refresh } = useReading(sampler, isPaused);
  const [order, setOrder] = useState(firstOrder);
  const [filter, setFilter] = useState(firstFilter);
  const [isTyping, setTyping] = useState(false);
  const [isHelp, setHelp] = useState(false);
  const [path, setPath] = useState<readonly ObjectKey[]>([]);
  const [selected, setSelected] = useState<ObjectKey | undefined>(undefined);

  const parent = reading?.snapshot.objects.get(path.at(-1) ?? "");
  const rows =
    reading === undefined ? [] : arrangeRows(topRows(reading.snapshot, reading.before, parent), order, filter);
  const at = Math.max(
    0,
    rows.findIndex(({ object }) => object.key === selected),
  );
  const details = parent === undefined ? [] : objectLines(parent, width, Math.max(4, Math.floor(height / 2)));
  const helpLines = player === undefined ? help : [...help, ...recordingHelp];
  const chrome = 4 + (isHelp ? helpLines.length : 0) + details.length;
  const room = Math.max(1, height - chrome - 1);
  const move = (by: number): void =>
    setSelected(rows[Math.min(rows.length - 1, Math.max(0, at + by))]?.object.key ?? selected);

  const open = (): void => {
    const row = rows[at];
    if (row === undefined) return;
    setPath([...path, row.object.key]);
    setSelected(undefined);
  };
  const goBack = (): void => {
    if (filter !== "") setFilter("");
    else {
      setSelected(path.at(-1));
      setPath(path.slice(0, -1));
    }
  };
  const play = (move: (player: Player) => void): void => {
    if (player === undefined) return;
    setPaused(true);
    move(player);
    refresh();
  };
  const press = (character: string): void => {
    if (character === "q") exit();
    else if (character === "[") play(({ skip }) => skip(-60_000));
    else if (character === "]") play(({ skip }) => skip(60_000));
    else if (character === "g") play(({ skip }) => skip(Number.NEGATIVE_INFINITY));
    else if (character === "G") play(({ skip }) => skip(Number.POSITIVE_INFINITY));
    else if (character === "+") setSpeed((last) => Math.min(1024, last * 2));
    else if (character === "-") setSpeed((last) => Math.max(1 / 16, last / 2));
    else if (character === "?") setHelp((isShown) => !isShown);
    else if (character === "p" || character === " ") setPaused((wasPaused) => !wasPaused);
    else if (character === "s") setOrder((last) => topOrders[(topOrders.indexOf(last) + 1) % topOrders.length] ?? last);
  };

  // A slow connection delivers several keys at once: an input may contain a command, the filter and the Enter key.
  const type = (input: string): void => {
    const [text = "", ...rest] = input.split("\r");
    setFilter((last) => last + text);
    if (rest.length > 0) setTyping(false);
  };
  useInput((input, key) => {
    if (isTyping) {
      if (key.return || key.escape) setTyping(false);
      if (key.escape) setFilter("");
      else if (key.backspace || key.delete) setFilter(filter.slice(0, -1));
      else if (!key.return && !key.ctrl && !key.meta) type(input);
    } else if (key.upArrow) move(-1);
    else if (key.downArrow) move(1);
    else if (key.leftArrow) play(({ step }) => step(-1));
    else if (key.rightArrow) play(({ step }) => step(1));
    else if (key.pageUp) move(-room);
    else if (key.pageDown) move(room);
    else if (key.return) open();
    else if (key.escape) goBack();
    else {
      const count = (character: string): number => input.split(character).length - 1;
      if (/^[jk]+$/.test(input)) return move(count("j") - count("k"));
      const slash = input.indexOf("/");
      for (const character of slash < 0 ? input : input.slice(0, slash)) press(character);
      if (slash < 0) return;
      setTyping(true);
      type(input.slice(slash + 1));
    }
  });

  if (reading === undefined) return <Text dimColor>Reading…</Text>;
  const { snapshot } = reading;
  const first = Math.min(Math.max(0, at - Math.floor(room / 2)), Math.max(0, rows.length - room));
  const crumbs = path.map((key) => labelOf(snapshot.objects.get(key) ?? missing)).join(" › ");
  const mode = [
    player === undefined ? "" : new Date(snapshot.timeMs).toISOString(),
    player?.isAtEnd() ? "end of the recording" : isPaused ? "paused" : speed === 1 ? "" : `${speed} times as fast`,
    `order: ${order}`,
    filter || isTyping ? `filter: ${filter}${isTyping ? "▏" : ""}` : "",
  ];
  return (
    <Box flexDirection="column">
      <Text wrap="truncate">{printableText(path.length === 0 ? topHeadline(snapshot, rows) : crumbs)}</Text>
      <Text wrap="truncate" dimColor>
        {printableText(mode.filter((part) => part !== "").join(" · "))}
      </Text>
      {isHelp &&
        helpLines.map((line) => (
          <Text key={line} wrap="truncate">
            {line}
          </Text>
        ))}
      {details.length > 0 && <Text>{details.join("\n")}</Text>}
      <Rows rows={rows.slice(first, first + room)} selected={rows[at]?.object.key} snapshot={snapshot} width={width} />
      <Text wrap="truncate" dimColor>
        {rows.length > room ? `${first + 1}–${Math.min(rows.length, first + room)} of ${rows.length} · ` : ""}? help · q
        quit
      </Text>
    </Box>
  );
}

const missing = { name: "closed", kind: "channel", id: 0n } as unknown as TopRow["object"];

interface RowsProps {
  readonly rows: readonly TopRow[];
  readonly selected: ObjectKey | undefined;
  readonly snapshot: Snapshot;
  readonly width: number;
}

/** The table. Its cells are escaped by `renderTable`. */
function Rows({ rows, selected, snapshot, width }: RowsProps): ReactNode {
  if (rows.length === 0) {
    const problem = snapshot.origins.find(({ error }) => error !== undefined)?.error;
    return <Text color={problem === undefined ? "gray" : "red"}>{printableText(problem ?? "Nothing to show.")}</Text>;
  }
  const palette = createPalette(process.env.NO_COLOR === undefined);
  const [heading = "", ...lines] = renderTable(topColumns(palette, snapshot), rows, width);
  return (
    <Box flexDirection="column">
      <Text bold wrap="truncate">
        {heading}
      </Text>
      {lines.map((line, index) => (
        <Text key={rows[index]?.object.key ?? index} wrap="truncate" inverse={rows[index]?.object.key === selected}>
          {line}
        </Text>
      ))}
    </Box>
  );
}

/** What is shown, and the controls of a recording. */
interface ShownReading {
  readonly reading: Reading | undefined;
  readonly player: Player | undefined;
  readonly speed: number;
  readonly setSpeed: (change: (last: number) => number) => void;
  /** Shows the position of the player. */
  readonly refresh: () => void;
}

/** The newest snapshot and the one before it, or the position in a recording; while paused, those of that moment. */
function useReading({ timeline, recorded }: LiveHistory, isPaused: boolean): ShownReading {
  const [player] = useState(() => (recorded === undefined ? undefined : createPlayer(timeline, recorded)));
  const [reading, setReading] = useState<Reading | undefined>(() => player?.current());
  const [speed, setSpeed] = useState(1);
  useEffect(
    () => (isPaused || player !== undefined ? undefined : follow(timeline, setReading)),
    [timeline, isPaused, player],
  );
  useEffect(() => {
    // Waits again after each read.
    const waitMs = isPaused || reading === undefined ? undefined : player?.untilNextMs();
    if (player === undefined || waitMs === undefined) return undefined;
    const timer = setTimeout(() => {
      player.step(1);
      setReading(player.current());
    }, waitMs / speed);
    return () => clearTimeout(timer);
  }, [isPaused, player, speed, reading]);
  return { reading, player, speed, setSpeed, refresh: () => setReading(player?.current()) };
}

function follow(timeline: Timeline, setReading: (change: (last: Reading | undefined) => Reading) => void): () => void {
  const take = (snapshot: Snapshot): void =>
    setReading((last) => (last?.snapshot === snapshot ? last : { snapshot, before: last?.snapshot }));
  const newest = timeline.newest();
  if (newest !== undefined) take(newest);
  return timeline.subscribe(take);
}

function useTerminalSize(): { readonly rows: number; readonly columns: number } {
  const { stdout } = useStdout();
  const [size, setSize] = useState(() => sizeOf(stdout));
  useEffect(() => {
    const onResize = (): void => setSize(sizeOf(stdout));
    stdout.on("resize", onResize);
    return () => void stdout.off("resize", onResize);
  }, [stdout]);
  return size;
}

/** Some terminals report a size of 0. */
function sizeOf({ rows, columns }: NodeJS.WriteStream): { readonly rows: number; readonly columns: number } {
  return { rows: rows || 24, columns: columns || 80 };
}
