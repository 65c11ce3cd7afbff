import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { loadSession, type Session } from "./session.js";
import { withStreamSlot } from "./stream-slots.js";

/**
 * Whether the page receives live data. "waiting": other windows use all connections that streams may use. "ended": this browser has no
 * valid session and needs a new link.
 */
export type ConnectionState = "connecting" | "live" | "reconnecting" | "waiting" | "ended";

type StreamState = "opening" | "live" | "failing" | "waiting";

const states = signal<ReadonlyMap<LiveStream, StreamState>>(new Map());
const hasEnded = signal(false);
let wasLive = false;

export const connection: ReadonlySignal<ConnectionState> = computed(() => {
  if (hasEnded.value) return "ended";
  const all = [...states.value.values()];
  if (all.includes("waiting")) return "waiting";
  if (all.includes("failing")) return wasLive ? "reconnecting" : "connecting";
  return all.includes("live") ? "live" : wasLive ? "reconnecting" : "connecting";
});

const heard = signal(Date.now());

/** When the server last sent something, in milliseconds since 1970. Only current while the connection is lost. */
export const lastHeardMs: ReadonlySignal<number> = computed(() => heard.value);

/** Reads a stream until it ends or the signal aborts, and calls `onMessage` for each message. */
export type LiveStream = (session: Session, signal: AbortSignal, onMessage: () => void) => Promise<void>;

const firstRetryMs = 500;
const maxRetryMs = 4_000;

/**
 * How long all streams may be silent until the page checks whether the server responds, and how long that may take: together with the
 * interval of the checks less than 5 s. The timeline usually sends each second.
 */
const maxSilenceMs = 2_000;
const maxCheckMs = 2_000;
const checkMs = 500;

/** How long a stream waits for other windows until the page says so. */
const waitingNoticeMs = 1_000;

/**
 * Keeps a stream open while the page is visible: when it ends or fails, it is opened again. Returns a function that ends it.
 * A hidden tab has no streams: it costs the server nothing, and browsers allow only six connections to a host over HTTP/1.1.
 * A stream that keeps a connection open may have to wait for other windows.
 */
export function keepStream(holdsConnection: boolean, stream: LiveStream): () => void {
  let running: AbortController | undefined;
  const restart = (): void => {
    running?.abort();
    running = undefined;
    if (document.visibilityState === "hidden") return;
    running = new AbortController();
    void run(holdsConnection, stream, running.signal);
  };
  document.addEventListener("visibilitychange", restart);
  if (!hasTimer) setInterval(() => void checkServer(), checkMs);
  hasTimer = true;
  restart();
  return () => {
    document.removeEventListener("visibilitychange", restart);
    running?.abort();
    setState(stream, undefined);
  };
}

async function run(holdsConnection: boolean, stream: LiveStream, signal: AbortSignal): Promise<void> {
  let retryMs = firstRetryMs;
  if (!states.peek().has(stream)) setState(stream, "opening");
  while (!signal.aborted) {
    const attempt = new AbortController();
    let notice: ReturnType<typeof setTimeout> | undefined;
    try {
      const session = await sharedSession();
      if (session === undefined || signal.aborted) return;
      const read = async (): Promise<void> => {
        clearTimeout(notice);
        if (states.peek().get(stream) === "waiting") setState(stream, "opening");
        heardMs = performance.now();
        attempts.add(attempt);
        await stream(session, AbortSignal.any([signal, attempt.signal]), () => {
          heardMs = performance.now();
          heardAtMs = Date.now();
          retryMs = firstRetryMs;
          if (!signal.aborted) setState(stream, "live");
        });
      };
      notice = setTimeout(() => !signal.aborted && setState(stream, "waiting"), waitingNoticeMs);
      await (holdsConnection ? withStreamSlot(signal, read) : read());
    } catch {
      // The server stopped or cannot be reached. The state shows it, and the next attempt may succeed.
    } finally {
      clearTimeout(notice);
      attempts.delete(attempt);
    }
    if (signal.aborted) return;
    setState(stream, "failing");
    opened = undefined;
    await delay(retryMs, signal);
    retryMs = Math.min(maxRetryMs, retryMs * 2);
  }
}

/** The open streams. */
const attempts = new Set<AbortController>();
let heardAtMs = Date.now();
/** When a stream last opened or sent a message. */
let heardMs = 0;
let hasTimer = false;
let isChecking = false;

/**
 * Ends all streams if they are silent and the server does not respond: neither a suspended server nor a lost network closes a
 * connection, and the page would show old data as live.
 */
async function checkServer(): Promise<void> {
  if (isChecking || attempts.size === 0 || performance.now() - heardMs < maxSilenceMs) return;
  isChecking = true;
  try {
    await loadSession(maxCheckMs);
    heardMs = performance.now();
  } catch {
    for (const attempt of attempts) attempt.abort();
  } finally {
    isChecking = false;
  }
}

let opened: Promise<Session | undefined> | undefined;

/** One request for the session, for all streams that open at the same time. */
function sharedSession(): Promise<Session | undefined> {
  opened ??= loadSession().then((session) => {
    hasEnded.value = session === undefined;
    return session;
  });
  return opened;
}

function setState(stream: LiveStream, state: StreamState | undefined): void {
  if (state === "live") wasLive = true;
  if (state === "failing") heard.value = heardAtMs;
  if (states.peek().get(stream) === state) return;
  const next = new Map(states.peek());
  if (state === undefined) next.delete(stream);
  else next.set(stream, state);
  states.value = next;
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
