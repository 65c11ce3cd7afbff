import { printableText } from "@wirescope/channelz/internal";
import {
  type AdminClient,
  type Failure,
  type ListServersResponse,
  type Server,
  type SignInPrompt,
  type SignInRequest,
  SignInWay,
} from "@wirescope/gateway/admin";
import {
  approvalFromMessage,
  explanationFromMessage,
  failureReport,
  promptFromMessage,
  type ServerReport,
  serverFromMessage,
  signOutFromMessage,
} from "@wirescope/gateway/internal";
import { ToolServerError } from "@wirescope/tool-server";
import { commandLine } from "@wirescope/tool-server/internal/command-line";
import type { Explanation } from "@wirescope/tool-server/why";
import type { Io } from "../io.js";
import { failureFrom, type GatewayAdmin } from "./connect-to-gateway.js";
import type { AdminSignInOptions, ServerAdmin, SignedIn } from "./server-admin.js";

/** The servers of the running gateway, through its administration API. The gateway redacts its responses. */
export function createRemoteAdmin({ client, url, close }: GatewayAdmin, io: Io): ServerAdmin {
  const call = async <T>(task: () => Promise<T>): Promise<T> => {
    try {
      return await task();
    } catch (error) {
      throw failureFrom(error, url);
    }
  };

  const statuses: ServerAdmin["statuses"] = async (name) => {
    const { servers, reloadFailure, notes } = await call(() => allServers(client));
    const all = servers.map(serverFromMessage);
    return { servers: only(all, name), reloadFailure: failureReport(reloadFailure), notes };
  };
  const list: ServerAdmin["list"] = async (name) => (await statuses(name)).servers;

  /** The server of this name, or all. */
  const only = (all: readonly ServerReport[], name: string | undefined): readonly ServerReport[] => {
    const found = name === undefined ? all : all.filter((server) => server.name === name);
    if (name === undefined || found.length > 0) return found;
    const names = all.map((server) => server.name).join(", ") || "none";
    throw new ToolServerError("SERVER_UNKNOWN", {
      problem: `The gateway at ${url} has no server ${JSON.stringify(name)}.`,
      advice: `Servers: ${names}.`,
    });
  };

  const reconnect = async (server: ServerReport): Promise<ServerReport> => {
    const { server: after } = await call(() => client.reconnect({ server: server.name }));
    return after === undefined ? server : serverFromMessage(after);
  };

  return {
    gateway: url,
    io,
    list,
    statuses,
    describe: async () => ({ gateway: url }),
    async signIn(server, options) {
      const done = await signIn({ client, url }, io, server, options);
      return signedIn(serverFromMessage(done));
    },
    signOut: (server, { isEverywhere: all = false }) =>
      call(async () => signOutFromMessage(server, await client.signOut({ server, all }))),
    async approvals() {
      const servers = await list();
      return Promise.all(
        servers.map(async ({ name, type }) => {
          const { state, reason } = await call(async () =>
            approvalFromMessage(await client.getApproval({ server: name })),
          );
          return { name, type: type ?? "-", state, reason };
        }),
      );
    },
    async approval(server) {
      const { fingerprint, ...shown } = await call(async () =>
        approvalFromMessage(await client.getApproval({ server })),
      );
      return {
        name: server,
        ...shown,
        approve: () => call(async () => (await client.approve({ server, fingerprint })).server?.failure?.message),
      };
    },
    explain: (server) => call(() => explain(client, server)),
    async reconnect(name) {
      const works = ({ isConnected, failure }: ServerReport): boolean => isConnected && failure === undefined;
      // One that is named loads its lists again.
      return Promise.all(
        (await list(name)).map((each) => (name === undefined && works(each) ? each : reconnect(each))),
      );
    },
    reload: () => call(async () => (await client.reload({})).servers),
    setDebug: (isOn) => call(async () => (await client.setDebug({ enabled: isOn })).wasEnabled),
    [Symbol.asyncDispose]: async () => close(),
  };
}

async function explain(client: AdminClient, server: string): Promise<Explanation> {
  for await (const { event } of client.explain({ server })) {
    if (event.case === "explanation") return explanationFromMessage(event.value);
  }
  throw new ToolServerError("SERVER_FAILED", {
    problem: `The gateway did not report the result of the diagnosis of ${server}.`,
    advice: "Try again.",
  });
}

async function allServers(
  client: AdminClient,
): Promise<Pick<ListServersResponse, "servers" | "reloadFailure" | "notes">> {
  const servers: Server[] = [];
  let reloadFailure: Failure | undefined;
  let notes: string[] = [];
  for (let pageToken: string | undefined; pageToken !== ""; ) {
    const page = await client.listServers({ pageToken: pageToken ?? "" });
    servers.push(...page.servers);
    ({ reloadFailure, notes } = page);
    pageToken = page.nextPageToken;
  }
  return { servers, notes, ...(reloadFailure && { reloadFailure }) };
}

function signedIn({ name, isConnected, description, credential, failure }: ServerReport): SignedIn {
  return {
    oauth: credential?.oauth,
    async connect() {
      if (isConnected) return description;
      if (failure instanceof Error) throw failure;
      const problem = failure?.message ?? `${name} is not connected yet.`;
      const advice = failure === undefined ? `See ${commandLine("auth", name)}.` : "";
      throw new ToolServerError("SERVER_FAILED", { problem, advice });
    },
  };
}

/** Signs the gateway in, and tries again after the person has confirmed another issuer or origin. */
async function signIn(
  { client, url }: Pick<GatewayAdmin, "client" | "url">,
  io: Io,
  server: string,
  options: AdminSignInOptions,
): Promise<Server> {
  const { person, signal } = options;
  let confirmed: ConfirmedByPerson = { confirmedIssuer: "", confirmedOrigin: options.confirmedOrigin ?? "" };
  for (;;) {
    try {
      return await attempt(client, io, server, options, confirmed);
    } catch (error) {
      const failure = failureFrom(error, url);
      const { issuerChange, foreignOrigin } = ToolServerError.is(failure) ? failure.details : {};
      // Not asked twice about the same one: that could repeat forever.
      const isNewIssuer = issuerChange !== undefined && issuerChange.to !== confirmed.confirmedIssuer;
      const isNewOrigin = foreignOrigin !== undefined && foreignOrigin.origin !== confirmed.confirmedOrigin;
      if (isNewIssuer && (await person.confirm?.({ kind: "issuer", server, ...issuerChange }, signal))) {
        confirmed = { ...confirmed, confirmedIssuer: issuerChange.to };
      } else if (isNewOrigin && (await person.confirm?.({ kind: "origin", server, ...foreignOrigin }, signal))) {
        confirmed = { ...confirmed, confirmedOrigin: foreignOrigin.origin };
      } else throw signal.aborted ? signal.reason : failure;
    }
  }
}

type ConfirmedByPerson = Pick<SignInRequest, "confirmedIssuer" | "confirmedOrigin">;

async function attempt(
  client: AdminClient,
  io: Io,
  server: string,
  { person, isByDevice, scopes, signal }: AdminSignInOptions,
  confirmed: ConfirmedByPerson,
): Promise<Server> {
  const finished = new AbortController();
  const way = isByDevice ? SignInWay.DEVICE : SignInWay.UNSPECIFIED;
  const show = async (prompt: SignInPrompt): Promise<void> => {
    const pasted = await person.show(promptFromMessage(server, prompt), finished.signal);
    if (pasted !== undefined) await client.completeSignIn({ signInId: prompt.signInId, address: pasted });
  };
  try {
    for await (const { event } of client.signIn({ server, way, scopes: [...scopes], ...confirmed }, { signal })) {
      if (event.case === "done" && event.value.server !== undefined) return event.value.server;
      if (event.case === "waiting") io.stderr.write(`${printableText(event.value.message)}\n`);
      if (event.case === "notice")
        person.onEvent?.({ kind: "callback-rejected", severity: "warning", text: event.value.message });
      // The stream reports the result of the sign-in, whatever happens here.
      if (event.case === "prompt") void show(event.value).catch(() => {});
    }
  } finally {
    finished.abort(new DOMException("The sign-in is over.", "AbortError"));
  }
  throw new ToolServerError("SIGN_IN_FAILED", {
    problem: `The gateway did not report the result of the sign-in to ${server}.`,
    advice: "Try again.",
  });
}
