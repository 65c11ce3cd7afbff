import type { Credential } from "../../auth/credentials/credential.js";
import type { ResolvedEntry } from "../../config/substitute-entry.js";
import type { ConnectionInfo, CredentialKind, TransportInfo } from "../../connection-info.js";
import type { ToolServerError } from "../../errors.js";
import type { AttemptFacts, RefusalFacts } from "../facts.js";
import { failureFactsOf } from "../failure-facts.js";
import { answerFactsOf } from "./answer-facts.js";
import { attempt } from "./attempt.js";
import type { RecordingClient, SeenExchange } from "./recording-client.js";
import { refusalFactsOf } from "./refusal-facts.js";
import type { Walk } from "./walk.js";

export interface NetworkAttempt {
  readonly resolved: Exclude<ResolvedEntry, { readonly type: "stdio" }>;
  readonly credential: Credential;
  readonly http: RecordingClient;
  readonly facts: ConnectionInfo;
  readonly onTransport: (facts: TransportInfo) => void;
}

/** Connects over the network, and takes note of the last answer and of the last refusal. */
export async function attemptOverNetwork(walk: Walk, options: NetworkAttempt): Promise<AttemptFacts> {
  const { resolved, credential, http, facts } = options;
  let seen: readonly SeenExchange[] = [];
  const { connected, failure } = await attempt(
    walk,
    { resolved, credential, http, facts, onTransport: (_, transport) => options.onTransport(transport) },
    async () => {
      await http.settle();
      seen = http.exchanges.filter(({ isOwn }) => isOwn);
    },
  );
  const base = { credential: credential.kind, connected };
  if (failure === undefined) return base;
  const last = seen.at(-1);
  const refused = seen.findLast(({ status }) => isRefused(status));
  const isLast = refused !== undefined && refused === last;
  const isRefusal = isRefused(failure.details.status) || refusalCodes.has(failure.code) || isLast;
  const shown = isRefusal ? (refused ?? last) : last;
  return {
    ...base,
    failure: failureFactsOf(failure, walk.redact),
    answer: shown === undefined ? undefined : answerFactsOf(walk, shown),
    refusal: !isRefusal
      ? undefined
      : refused === undefined
        ? refusalOf(failure, credential.kind, walk.clock.now())
        : refusalFactsOf(walk, new URL(resolved.url), refused, credential.describe()),
  };
}

function isRefused(status: number | undefined): boolean {
  return status === 401 || status === 403;
}

const refusalCodes: ReadonlySet<string> = new Set(["UNAUTHORIZED", "FORBIDDEN", "SIGN_IN_NEEDED"]);

/** What is left of a refusal that was no answer of HTTP to look at, as over a WebSocket. */
function refusalOf({ code, details }: ToolServerError, kind: CredentialKind, now: number): RefusalFacts | undefined {
  const status = details.status ?? (code === "FORBIDDEN" ? 403 : 401);
  if (!isRefused(status)) return undefined;
  const findings = details.findings ?? [];
  const carriesCredential = kind !== "none" && !findings.some(({ cause }) => cause === "nothing-sent");
  return { status, now, findings, carriesCredential, tokens: [], tenants: [], skewMs: undefined };
}
