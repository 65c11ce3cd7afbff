import { printableText } from "@wirescope/channelz/printable-text";
import { type AdminClient, readAdminError, type Server, type SignInPrompt, SignInWay } from "@wirescope/gateway/admin";
import { type SignInRequest, ToolServerError } from "@wirescope/tool-server";
import type { Io } from "../io.js";
import { personAtTerminal } from "../tool-server/person-at-terminal.js";
import type { AdminAtHand } from "./ask-gateway.js";
import { failureFrom } from "./ask-gateway.js";

export interface SignInThroughOptions {
  readonly server: string;
  readonly isByDevice: boolean;
  readonly scopes: readonly string[];
  /** The origin of a sign-in page that the command line accepts. */
  readonly confirmedOrigin: string | undefined;
  readonly signal: AbortSignal;
}

/** Lets the person at the terminal sign in the gateway that runs. Resolves with the server as it is then; rejects as a sign-in does. */
export async function signInThrough(
  { client, url }: AdminAtHand,
  io: Io,
  options: SignInThroughOptions,
): Promise<Server> {
  const { server, signal } = options;
  const person = personAtTerminal(io);
  let confirmed: Confirmed = { confirmedIssuer: "", confirmedOrigin: options.confirmedOrigin ?? "" };
  for (;;) {
    try {
      return await signIn(client, io, options, confirmed);
    } catch (error) {
      const { issuerChange, foreignOrigin } = readAdminError(error).failure ?? {};
      if (issuerChange !== undefined && (await person.confirmIssuer?.({ server, ...issuerChange }, signal))) {
        confirmed = { ...confirmed, confirmedIssuer: issuerChange.to };
      } else if (foreignOrigin !== undefined && (await person.confirmOrigin?.({ server, ...foreignOrigin }, signal))) {
        confirmed = { ...confirmed, confirmedOrigin: foreignOrigin.origin };
      } else throw signal.aborted ? signal.reason : failureFrom(error, url);
    }
  }
}

/** What the person agreed to so far. */
interface Confirmed {
  readonly confirmedIssuer: string;
  readonly confirmedOrigin: string;
}

async function signIn(
  client: AdminClient,
  io: Io,
  { server, isByDevice, scopes, signal }: SignInThroughOptions,
  confirmed: Confirmed,
): Promise<Server> {
  const over = new AbortController();
  const person = personAtTerminal(io);
  const way = isByDevice ? SignInWay.DEVICE : SignInWay.UNSPECIFIED;
  const show = async (prompt: SignInPrompt): Promise<void> => {
    const reply = await person.begin(requestOf(server, prompt), over.signal);
    if (reply !== undefined) await client.completeSignIn({ signInId: prompt.signInId, address: reply.pasted });
  };
  try {
    for await (const { event } of client.signIn({ server, way, scopes: [...scopes], ...confirmed }, { signal })) {
      if (event.case === "done" && event.value.server !== undefined) return event.value.server;
      if (event.case === "waiting") io.stderr.write(`${printableText(event.value.message)}\n`);
      // How the sign-in ends is told by the stream, however the person's part of it ended.
      if (event.case === "prompt") void show(event.value).catch(() => {});
    }
  } finally {
    over.abort(new DOMException("The sign-in is over.", "AbortError"));
  }
  throw new ToolServerError(
    "SIGN_IN_FAILED",
    `The gateway does not say how the sign-in to ${server} ended. Try again.`,
  );
}

function requestOf(server: string, prompt: SignInPrompt): SignInRequest {
  const { issuer, scopes, newScopes, storage, way } = prompt;
  return {
    server,
    issuer,
    reason: "asked",
    scopes,
    newScopes,
    vault: { kind: "file", summary: storage },
    way:
      way.case === "device"
        ? {
            kind: "device",
            url: way.value.url,
            userCode: way.value.userCode,
            completeUrl: way.value.completeUrl || undefined,
            expiresAt: Number(way.value.expireTime?.seconds ?? 0) * 1000,
          }
        : { kind: "browser", url: way.value?.url ?? "", redirectUri: way.value?.redirectUri ?? "" },
  };
}
