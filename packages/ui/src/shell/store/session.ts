import { computed, type ReadonlySignal, signal } from "@preact/signals";

/** The page's server, and the rights of this browser. */
export interface Session {
  /** A gateway, or any process that speaks Channelz. */
  readonly kind: "gateway" | "target";
  readonly title: string;
  /** The addresses that are shown. */
  readonly targets: readonly string[];
  readonly version: string;
  readonly rights: "administrator" | "reader";
  readonly features: {
    readonly calls: boolean;
    readonly capture: boolean;
    readonly tools: boolean;
    readonly servers: boolean;
  };
}

/** The result of the session request: the page cannot show anything without a session. */
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

/** Whether the page is served for a recording, which has no live data. */
export const isRecordedTarget: ReadonlySignal<boolean> = computed(() => {
  const { kind, targets } = session.value ?? { targets: [] };
  return kind === "target" && targets.length === 1 && targets[0]?.startsWith("file:") === true;
});

/** Whether this browser may change something. */
export const isAdministrator: ReadonlySignal<boolean> = computed(() => session.value?.rights === "administrator");

/** Where the link stores the session key. Unlike a cookie it is not sent to other ports of the same host. */
const keyItem = "wirescope.key";

/** The header that every request of the page carries, in addition to the cookie. */
const keyHeader = "x-wirescope-csrf";

/** The header that asks the server to prove its identity. */
const nonceHeader = "x-wirescope-nonce";

let proof: string | undefined;

/** The headers that prove that a request comes from this page. */
export function sessionHeaders(): Readonly<Record<string, string>> {
  return proof === undefined ? {} : { [keyHeader]: proof };
}

// Another tab opened a new link, which replaced the cookie of all tabs.
addEventListener("storage", ({ key }) => {
  if (key === keyItem) void loadSession().catch(() => {});
});

/** How long the server has to respond to a request for the session. */
const maxResponseMs = 8_000;

/** Reads the session. Rejects if the server cannot be reached or does not respond. */
export async function loadSession(timeoutMs: number = maxResponseMs): Promise<Session | undefined> {
  const signal = AbortSignal.timeout(timeoutMs);
  const key = localStorage.getItem(keyItem);
  proof = key === null ? undefined : await exchangeProofs(key, signal);
  const loaded = proof && (await readJson<Session>(sessionHeaders(), signal));
  state.value = loaded ? { status: "open", session: loaded } : { status: "signed out" };
  return loaded || undefined;
}

/**
 * Lets the server prove that it knows the key, and returns the page's proof for this run of the server. The key itself is not sent:
 * another program may have taken the port of a server that stopped. Undefined if the server does not have the session.
 */
async function exchangeProofs(key: string, signal: AbortSignal): Promise<string | undefined> {
  // On plain HTTP, browsers have no Web Crypto except on the loopback interface. The network can read everything there anyway.
  if (!isSecureContext) return key;
  const nonce = base64(crypto.getRandomValues(new Uint8Array(32)));
  const given = await readJson<{ readonly salt: string; readonly proof: string }>({ [nonceHeader]: nonce }, signal);
  if (given === undefined) return undefined;
  const keyHash = base64(new Uint8Array(await crypto.subtle.digest("SHA-256", bytesOf(key))));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", bytesOf(keyHash), algorithm, false, ["sign"]);
  const mac = async (text: string): Promise<string> =>
    base64(new Uint8Array(await crypto.subtle.sign("HMAC", imported, bytesOf(text))));
  return given.proof === (await mac(`server ${given.salt} ${nonce}`)) ? mac(`page ${given.salt}`) : undefined;
}

/** Requests the session. Undefined if this browser has none. */
async function readJson<Body>(
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Body | undefined> {
  const response = await fetch("/session", {
    headers: { accept: "application/json", ...headers },
    signal,
  });
  if (response.status === 401 || response.status === 403) return undefined;
  if (!response.ok) throw new Error(`The server responded to /session with status ${response.status}.`);
  return (await response.json()) as Body;
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}
