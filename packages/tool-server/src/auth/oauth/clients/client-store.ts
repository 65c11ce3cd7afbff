import { untracked } from "../../../diagnostics.js";
import { type JsonObject, stringOf } from "../../../json-object.js";
import { parseUrl } from "../../../url.js";
import type { Vault, VaultEntry, VaultKey } from "../../vault/vault.js";
import type { AuthorizationServer } from "../discovery/authorization-server.js";
import { type OAuthContext, tellEvent } from "../oauth-context.js";
import { oauthFailure } from "../oauth-errors.js";
import { sendOAuthRequest } from "../requests/oauth-request.js";
import {
  type ClientAuthentication,
  type ConfiguredClient,
  chooseAuthentication,
  type OAuthClient,
  readClientKey,
} from "./oauth-client.js";
import { processRegistration, registrationRequest } from "./register-client.js";

/** A client that can be used, and the redirect URI that it was last used with. */
export interface KnownClient {
  readonly client: OAuthClient;
  readonly redirectUri: string | undefined;
  /** Whether it was registered now, and so is alive for certain. */
  readonly isNew: boolean;
}

/** The clients of a tool server at its authorization servers, kept by issuer: none is ever shown to another. */
export interface ClientStore {
  /**
   * The client to use: of the configuration, else a metadata document where the server takes one, else an earlier
   * registration; undefined where a new registration is needed.
   */
  find(server: AuthorizationServer): Promise<KnownClient | undefined>;
  /** The client with this id, whichever it is; undefined where it is no longer known. */
  byId(server: AuthorizationServer, clientId: string): Promise<OAuthClient | undefined>;
  /** Registers a new client and keeps it. Rejects with REGISTRATION_REFUSED. */
  register(server: AuthorizationServer, redirectUri: string, signal?: AbortSignal): Promise<KnownClient>;
  /** Keeps the redirect URI that a client is used with, so that its port stays the same. */
  keepRedirect(server: AuthorizationServer, client: OAuthClient, redirectUri: string): Promise<void>;
  /** Forgets a registration that is dead, unless another has taken its place; tells whether there was one to forget. */
  drop(server: AuthorizationServer, client: OAuthClient): Promise<boolean>;
}

export interface ClientStoreOptions {
  readonly vault: Vault;
  /** The place of the client of an issuer. */
  readonly keyOf: (issuer: string) => VaultKey;
  /** A client that was registered by hand. Its secrets are made known at once. */
  readonly configured?: ConfiguredClient | undefined;
  /** The url of a client-id metadata document. https, with a path. */
  readonly metadataUrl?: string | undefined;
}

/** Throws a TypeError where the configured client cannot be used. */
export function createClientStore(context: OAuthContext, options: ClientStoreOptions): ClientStore {
  const { vault, keyOf, configured, metadataUrl } = options;
  const { track = untracked } = context;
  const key = configured === undefined ? undefined : readClientKey(configured);
  for (const secret of [configured?.clientSecret, configured?.privateKey]) {
    if (secret !== undefined) context.secrets.add(secret);
  }
  if (metadataUrl !== undefined && !isMetadataUrl(metadataUrl)) {
    throw new TypeError("The url of a client-id metadata document is of https and has a path.");
  }

  const given = (server: AuthorizationServer): OAuthClient | undefined => {
    if (configured !== undefined) {
      const { clientId, clientSecret } = configured;
      const authentication =
        configured.authentication ?? chooseAuthentication({ clientSecret, key }, server.authenticationMethods);
      return { kind: "configured", clientId, clientSecret, key, authentication };
    }
    if (metadataUrl === undefined || !server.takesMetadataDocuments) return undefined;
    return { kind: "metadata-document", clientId: metadataUrl, authentication: "none" };
  };

  const read = async (issuer: string): Promise<{ record: ClientRecord; entry: VaultEntry } | undefined> => {
    const entry = await vault.get(keyOf(issuer));
    const record = entry === undefined ? undefined : clientRecordOf(entry.value);
    if (entry === undefined || record === undefined) return undefined;
    if (record.registration?.clientSecret !== undefined) context.secrets.add(record.registration.clientSecret);
    return { record, entry };
  };

  const registered = ({ clientId, registration }: ClientRecord): OAuthClient | undefined => {
    if (registration === undefined) return undefined;
    const { clientSecret, authentication, secretExpiresAt } = registration;
    if (secretExpiresAt !== undefined && secretExpiresAt <= context.clock.now()) return undefined;
    return { kind: "registered", clientId, clientSecret, authentication };
  };

  const register: ClientStore["register"] = async (server, redirectUri, signal) => {
    if (server.registrationEndpoint === undefined) {
      throw oauthFailure(context, "REGISTRATION_REFUSED", {
        problem: `its authorization server ${server.issuer} registers no clients by itself.`,
        advice: "Register one by hand with its operator, and put the client id into the configuration.",
      });
    }
    const answer = await sendOAuthRequest(context, registrationRequest(server, redirectUri), signal);
    const { secretExpiresAt, ...client } = processRegistration(context, answer);
    const { clientId, clientSecret, authentication } = client;
    const record = { clientId, redirectUri, registration: { clientSecret, authentication, secretExpiresAt } };
    await vault.put(keyOf(server.issuer), clientRecordToJson(record));
    tellEvent(context, "client-registered", `This client was registered with ${server.issuer}.`);
    return { client, redirectUri, isNew: true };
  };

  return {
    async find(server) {
      const record = (await read(server.issuer))?.record;
      const client = given(server) ?? (record === undefined ? undefined : registered(record));
      if (client === undefined) return undefined;
      return {
        client,
        redirectUri: record?.clientId === client.clientId ? record.redirectUri : undefined,
        isNew: false,
      };
    },
    async byId(server, clientId) {
      const own = given(server);
      if (own?.clientId === clientId) return own;
      const record = (await read(server.issuer))?.record;
      return record?.clientId === clientId ? registered(record) : undefined;
    },
    register: (server, redirectUri, signal) =>
      track("registration", undefined, () => register(server, redirectUri, signal)),
    async keepRedirect(server, client, redirectUri) {
      // A registration has its own, which is part of it.
      if (client.kind === "registered") return;
      const kept = (await read(server.issuer))?.record;
      if (kept?.clientId === client.clientId && kept.redirectUri === redirectUri) return;
      await vault.put(keyOf(server.issuer), clientRecordToJson({ clientId: client.clientId, redirectUri }));
    },
    async drop(server, client) {
      const kept = await read(server.issuer);
      if (client.kind !== "registered" || kept?.record.clientId !== client.clientId) return false;
      const isDropped = await vault.deleteIf(keyOf(server.issuer), kept.entry.revision);
      const text = `The registration with ${server.issuer} is no longer accepted there, and was forgotten.`;
      if (isDropped) tellEvent(context, "client-dropped", text, "warning");
      return isDropped;
    },
  };
}

function isMetadataUrl(text: string): boolean {
  const url = parseUrl(text);
  return url?.protocol === "https:" && url.pathname !== "/";
}

/** What is kept of a client between sign-ins, by issuer: a registration, and the redirect URI that belongs to it. */
interface ClientRecord {
  readonly clientId: string;
  /** Exactly as it was registered, with its port. */
  readonly redirectUri: string;
  /** Only of a registration of ours; a configured client's secret stays where it is. */
  readonly registration?:
    | {
        readonly clientSecret?: string | undefined;
        readonly authentication: ClientAuthentication;
        readonly secretExpiresAt?: number | undefined;
      }
    | undefined;
}

function clientRecordToJson({ clientId, redirectUri, registration }: ClientRecord): JsonObject {
  if (registration === undefined) return { clientId, redirectUri };
  const { clientSecret, authentication, secretExpiresAt } = registration;
  return {
    clientId,
    redirectUri,
    authentication,
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(secretExpiresAt === undefined ? {} : { secretExpiresAt }),
  };
}

/** The record that was kept; undefined where it is of another form. */
function clientRecordOf(json: JsonObject): ClientRecord | undefined {
  const clientId = stringOf(json.clientId);
  const redirectUri = stringOf(json.redirectUri);
  if (clientId === undefined || redirectUri === undefined || parseUrl(redirectUri) === undefined) return undefined;
  const { authentication, secretExpiresAt } = json;
  if (authentication === undefined) return { clientId, redirectUri };
  if (!isAuthentication(authentication)) return undefined;
  return {
    clientId,
    redirectUri,
    registration: {
      authentication,
      clientSecret: stringOf(json.clientSecret),
      secretExpiresAt: typeof secretExpiresAt === "number" ? secretExpiresAt : undefined,
    },
  };
}

function isAuthentication(value: unknown): value is ClientAuthentication {
  return value === "none" || value === "client_secret_basic" || value === "client_secret_post";
}
