import { computed, type ReadonlySignal, signal } from "@preact/signals";

/** What the server of the page says about itself and about this browser. */
export interface Session {
  /** A gateway, or any process that speaks Channelz. */
  readonly kind: "gateway" | "target";
  readonly title: string;
  /** The addresses that are shown. */
  readonly targets: readonly string[];
  readonly version: string;
  readonly rights: "administrator" | "reader";
  readonly csrf: string;
  readonly features: {
    readonly calls: boolean;
    readonly capture: boolean;
    readonly tools: boolean;
    readonly servers: boolean;
  };
}

/** What the session request returned: the page cannot show anything without a session. */
export type SessionState =
  | { readonly status: "loading" }
  | { readonly status: "signed out" }
  | { readonly status: "open"; readonly session: Session };

const state = signal<SessionState>({ status: "loading" });

export const sessionState: ReadonlySignal<SessionState> = computed(() => state.value);

/** The session; undefined until it is loaded. */
export const session: ReadonlySignal<Session | undefined> = computed(() =>
  state.value.status === "open" ? state.value.session : undefined,
);

/** Whether this browser may change something. */
export const isAdministrator: ReadonlySignal<boolean> = computed(() => session.value?.rights === "administrator");

/** Where the entrance page stores the key of this browser. Unlike a cookie it is not sent to other ports of the same host. */
const keyItem = "wirescope.key";

/** The header that every request of the page carries, in addition to the cookie. */
const keyHeader = "x-wirescope-csrf";

/** The headers that prove that a request comes from this page. */
export function sessionHeaders(): Readonly<Record<string, string>> {
  const key = localStorage.getItem(keyItem);
  return key === null ? {} : { [keyHeader]: key };
}

/** Reads the session. Rejects if the server cannot be reached. */
export async function loadSession(): Promise<Session | undefined> {
  const response = await fetch("/session", { headers: { accept: "application/json", ...sessionHeaders() } });
  if (response.status === 401 || response.status === 403) {
    state.value = { status: "signed out" };
    return undefined;
  }
  if (!response.ok) throw new Error(`The server responded to /session with status ${response.status}.`);
  const loaded = (await response.json()) as Session;
  state.value = { status: "open", session: loaded };
  return loaded;
}
