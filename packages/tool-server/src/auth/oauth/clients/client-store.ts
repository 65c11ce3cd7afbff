import { type JsonObject, stringOf } from "../../../json-object.js";
import { parseUrl } from "../../../url.js";
import { type Vault, type VaultEntry, type VaultKey, writeEntry } from "../../vault/vault.js";
import type { AuthorizationServer } from "../discovery/metadata.js";
import type { OAuthContext } from "../oauth-context.js";
import { oauthFailure } from "../oauth-errors.js";
import { sendOAuthRequest } from "../requests/oauth-request.js";
import {
  builtInClientMetadataUrl,
  type ClientAuthentication,
  type ConfiguredClient,
  chooseAuthentication,
  type OAuthClient,
  readClientKey,
} from "./oauth-client.js";
import { processRegistration, registrationRequest } from "./register-client.js";

/** A usable client, and its last redirect URI. */
export interface KnownClient {
  readonly client: OAuthClient;
  readonly redirectUri: string | undefined;
  /** Whether it was just registered, so that it is certainly valid. */
  readonly isNew: boolean;
}

/** The clients of a tool server, by issuer: no issuer sees the client of another. */
export interface ClientStore {
  /**
   * The client to use: the configured one; otherwise a metadata document if the server supports it; otherwise an earlier
   * registration; undefined if a new registration is needed.
   */
  find(server: AuthorizationServer): Promise<KnownClient | undefined>;
  /** The client with this id; undefined if it is unknown. */
  byId(server: AuthorizationServer, clientId: string): Promise<OAuthClient | undefined>;
  /** Registers and stores a new client. Rejects with REGISTRATION_REFUSED. */
  register(server: AuthorizationServer, redirectUri: string, signal?: AbortSignal): Promise<KnownClient>;
  /**
   * Copies the client with this id from the vault entry of another server. Resolves with whether it is one that this server uses: the
   * configured one, or else the metadata document or a registration.
   */
  adopt(issuer: string, clientId: string, from: VaultKey): Promise<boolean>;
  /** Stores the redirect URI of a client, so that its port stays the same. */
  keepRedirect(server: AuthorizationServer, client: OAuthClient, redirectUri: string): Promise<void>;
  /**
   * Deletes a dead registration, unless it was replaced; or stops using a metadata document, if a client can be registered instead.
   * Resolves with whether it did.
   */
  drop(server: AuthorizationServer, client: OAuthClient): Promise<boolean>;
}

export interface ClientStoreOptions {
  readonly vault: Vault;
  /** The vault entry of the client of an issuer. */
  readonly keyOf: (issuer: string) => VaultKey;
  /** A client that was registered manually. Its secrets are added to the registry at once. */
  readonly configured?: ConfiguredClient | undefined;
  /** The url of a client-id metadata document: https, with a path. Default: that of the build, if it has one. */
  readonly metadataUrl?: string | undefined;
}

/** Throws a TypeError if the configured client is invalid. */
export function createClientStore(context: OAuthContext, options: ClientStoreOptions): ClientStore {
  const { vault, keyOf, configured, metadataUrl = builtInClientMetadataUrl } = options;
  const rejectedDocument = new Set<string>();
  const key = configured === undefined ? undefined : readClientKey(configured);
  for (const secret of [configured?.clientSecret, configured?.privateKey]) {
    if (secret !== undefined) context.secrets.add(secret);
  }
  if (metadataUrl !== undefined && !isMetadataUrl(metadataUrl)) {
    throw new TypeError("The url of a client-id metadata document must be https and have a path.");
  }

  const preset = async (server: AuthorizationServer): Promise<OAuthClient | undefined> => {
    if (configured !== undefined) {
      const { clientId } = configured;
      const clientSecret = configured.readSecret ? await configured.readSecret() : configured.clientSecret;
      const authentication =
        configured.authentication ?? chooseAuthentication({ clientSecret, key }, server.authenticationMethods);
      return { kind: "configured", clientId, clientSecret, key, authentication };
    }
    if (metadataUrl === undefined || !server.takesMetadataDocuments || rejectedDocument.has(server.issuer))
      return undefined;
    return { kind: "metadata-document", clientId: metadataUrl, authentication: "none" };
  };

  const recordIn = (entry: VaultEntry | undefined): ClientRecord | undefined => {
    const record = entry === undefined ? undefined : clientRecordOf(entry.value);
    if (record?.registration?.clientSecret !== undefined) context.secrets.add(record.registration.clientSecret);
    return record;
  };
  const read = async (issuer: string): Promise<ClientRecord | undefined> => recordIn(await vault.get(keyOf(issuer)));

  const registered = ({ clientId, registration }: ClientRecord): OAuthClient | undefined => {
    if (registration === undefined) return undefined;
    const { clientSecret, authentication, secretExpiresAt } = registration;
    if (secretExpiresAt !== undefined && secretExpiresAt <= context.clock.now()) return undefined;
    return { kind: "registered", clientId, clientSecret, authentication };
  };

  const register: ClientStore["register"] = async (server, redirectUri, signal) => {
    if (server.registrationEndpoint === undefined) {
      const isWithoutDocument = server.takesMetadataDocuments && metadataUrl === undefined;
      const document = isWithoutDocument ? "; or publish a client-id metadata document, and set clientMetadataUrl" : "";
      throw oauthFailure(context, "REGISTRATION_REFUSED", {
        problem: `its authorization server ${server.issuer} does not support dynamic client registration.`,
        advice: `Register a client manually with its operator, and set clientId in the oauth settings of the server${document}.`,
      });
    }
    const response = await sendOAuthRequest(context, registrationRequest(server, redirectUri), signal);
    const { secretExpiresAt, ...client } = processRegistration(context, server, response);
    const { clientId, clientSecret, authentication } = client;
    const record = { clientId, redirectUri, registration: { clientSecret, authentication, secretExpiresAt } };
    await writeEntry(vault, keyOf(server.issuer), clientRecordToJson(record));
    context.log.note("client", `Registered a client with ${server.issuer}.`);
    return { client, redirectUri, isNew: true };
  };

  return {
    async find(server) {
      const record = await read(server.issuer);
      const client = (await preset(server)) ?? (record === undefined ? undefined : registered(record));
      if (client === undefined) return undefined;
      return {
        client,
        redirectUri: record?.clientId === client.clientId ? record.redirectUri : undefined,
        isNew: false,
      };
    },
    async byId(server, clientId) {
      const own = configured !== undefined && configured.clientId !== clientId ? undefined : await preset(server);
      if (own?.clientId === clientId) return own;
      const record = await read(server.issuer);
      return record?.clientId === clientId ? registered(record) : undefined;
    },
    register: (server, redirectUri, signal) =>
      context.log.run("registration", undefined, () => register(server, redirectUri, signal)),
    async adopt(issuer, clientId, from) {
      const found = recordIn(await vault.get(from));
      const record = found?.clientId === clientId ? found : undefined;
      const isRegistered = record !== undefined && registered(record) !== undefined;
      const isUsed = configured ? configured.clientId === clientId : clientId === metadataUrl || isRegistered;
      if (isUsed && record !== undefined) await writeEntry(vault, keyOf(issuer), clientRecordToJson(record));
      return isUsed;
    },
    async keepRedirect(server, client, redirectUri) {
      // The redirect URI of a registration is part of it.
      if (client.kind === "registered") return;
      const kept = await read(server.issuer);
      if (kept?.clientId === client.clientId && kept.redirectUri === redirectUri) return;
      await writeEntry(vault, keyOf(server.issuer), clientRecordToJson({ clientId: client.clientId, redirectUri }));
    },
    async drop(server, client) {
      if (client.kind === "metadata-document") {
        if (server.registrationEndpoint === undefined || rejectedDocument.has(server.issuer)) return false;
        rejectedDocument.add(server.issuer);
        const text = `${server.issuer} does not accept the client-id metadata document ${client.clientId}; it may be unable to read it. A client is registered instead.`;
        context.log.note("client", text, "warning");
        return true;
      }
      if (client.kind !== "registered") return false;
      const isDropped = await vault.withLock(keyOf(server.issuer), async (entry) => {
        return recordIn(await entry.read())?.clientId === client.clientId && entry.remove();
      });
      const text = `${server.issuer} no longer accepts the client registration. It was deleted.`;
      if (isDropped) context.log.note("client", text, "warning");
      return isDropped;
    },
  };
}

function isMetadataUrl(text: string): boolean {
  const url = parseUrl(text);
  return url?.protocol === "https:" && url.pathname !== "/";
}

/** A stored client of an issuer: a registration, and its redirect URI. */
interface ClientRecord {
  readonly clientId: string;
  /** Exactly as registered, with its port. */
  readonly redirectUri: string;
  /** Only for our own registrations; the secret of a configured client is not stored. */
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

/** Parses a stored record; undefined if its format is unknown. */
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
