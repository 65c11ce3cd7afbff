import { resolve } from "node:path";
import { type ConfiguredClient, readClientKey } from "../../auth/oauth/clients/oauth-client.js";
import type { Identity } from "../../auth/oauth/tokens/machine-grant.js";
import type { SecretCommand } from "../../config/entry.js";
import {
  mapOAuthSettings,
  type OAuthSettingsOf,
  type OAuthText,
  oauthValueProblem,
} from "../../config/oauth-settings.js";
import type { Variables } from "../../config/substitute-entry.js";
import { messageOf, ToolServerError } from "../../errors.js";
import { type BoundedReadCode, readBoundedFile, readBoundedFileSync } from "../../files/bounded-file.js";
import { systemReason } from "../../files/system-reason.js";
import { type OAuthOverrides, type OwnSecretCommand, overridesOf } from "./entry-oauth.js";

/** The file with the settings of a server, for variables, relative paths and messages. */
export interface OAuthFileContext {
  readonly path: string;
  readonly folder: string;
  readonly server: string;
  readonly variables: Variables;
}

/** Settings that authenticate the client. They must not be sent to another server that takes the same name. */
const authenticatingSettings = ["clientSecret", "privateKeyFile", "grant"] as const;

/** The value of a setting, with its variables replaced. Throws CONFIGURATION_UNREADABLE if one is not set, or the value is invalid. */
export function oauthFileText(context: OAuthFileContext, text: OAuthText): string {
  const value = text.template.parts
    .map((part) => {
      if (part.kind === "text") return part.text;
      const found = context.variables[part.name] || part.fallback;
      if (!found) throw unusable(context, `${part.name} is not set.`, `Set it, or change ${text.field}.`);
      return found;
    })
    .join("");
  const problem = oauthValueProblem(text, value);
  if (problem !== undefined) throw unusable(context, problem, "Correct the value.");
  return value;
}

/** The overrides for a server in the user's file. Throws CONFIGURATION_UNREADABLE if they cannot be used. */
export function overridesOfFile(
  context: OAuthFileContext,
  parsed: OAuthSettingsOf<OAuthText>,
  command: SecretCommand | undefined,
): OAuthOverrides {
  const settings = mapOAuthSettings(parsed, (text) => oauthFileText(context, text));
  const authenticating = command?.name ?? authenticatingSettings.find((name) => settings[name] !== undefined);
  if (authenticating !== undefined && settings.url === undefined) {
    const problem = `${authenticating} requires url, the URL of the server. Without it, any project could use it for a server of the same name.`;
    throw unusable(context, problem, "Add url.");
  }
  const overrides = overridesOf(settings);
  const { client } = overrides;
  const { privateKeyFile } = settings;
  if (privateKeyFile !== undefined && client === undefined) {
    throw unusable(context, "privateKeyFile requires clientId.", "Add clientId.");
  }
  return {
    ...overrides,
    ...(client && privateKeyFile && { client: withKey(context, client, privateKeyFile) }),
    ...(command === undefined ? {} : { secretCommand: resolveCommand(context, command) }),
    ...grantOf(context, settings),
  };
}

function resolveCommand(context: OAuthFileContext, { command, ...rest }: SecretCommand): OwnSecretCommand {
  const words = command.map((word) => oauthFileText(context, { ...word, setting: "clientSecret" }));
  return { command: { ...rest, command: words }, folder: context.folder };
}

function grantOf(
  context: OAuthFileContext,
  settings: OAuthSettingsOf<string>,
): Pick<OAuthOverrides, "grant" | "identityProvider" | "grantSettings"> {
  const { grant } = settings;
  const requires = (names: string): ToolServerError =>
    unusable(context, `the grant ${grant} requires ${names}.`, "Add what is missing.");
  const file = (name: "assertionFile" | "identityTokenFile"): { path: string; read: () => Promise<string> } => {
    const path = settings[name];
    if (path === undefined) throw requires(name);
    // Read each time: platforms renew such tokens in place.
    return { path, read: () => readToken(context, path) };
  };
  switch (grant) {
    case "client-credentials":
      if (settings.clientId === undefined) throw requires("clientId and a secret or key");
      return { grant: { kind: "client-credentials" } };
    case "workload": {
      const { path, read } = file("assertionFile");
      return { grant: { kind: "workload", assertion: read }, grantSettings: [path] };
    }
    case "enterprise": {
      const { identityProvider, identityTokenEndpoint: tokenEndpoint, identityClientId: clientId } = settings;
      if (identityProvider !== undefined) return { identityProvider: { issuer: identityProvider, clientId } };
      if (tokenEndpoint === undefined || clientId === undefined) {
        throw requires("identityProvider, or identityTokenEndpoint and identityClientId");
      }
      const provider = { tokenEndpoint, client: { clientId } };
      const { path, read } = file("identityTokenFile");
      const identity = async (): Promise<Identity> => ({ provider, idToken: await read() });
      return { grant: { kind: "enterprise", url: tokenEndpoint, identity }, grantSettings: [clientId, path] };
    }
    default:
      return {};
  }
}

/** The client with the key in a file. Throws if it cannot sign: a later error could not name the file. */
function withKey(context: OAuthFileContext, client: ConfiguredClient, path: string): ConfiguredClient {
  const signing = { ...client, privateKey: readText(context, path) };
  try {
    readClientKey(signing);
    return signing;
  } catch (error) {
    const problem = `the file ${path} must contain a private key that can be used. ${messageOf(error)}`;
    throw unusable(context, problem, "Correct privateKeyFile, or algorithm.");
  }
}

/** Of a token or a key. */
const maxFileBytes = 65_536;

/** The token in a file. Rejects for content that is not a token: it would be sent to a server. */
async function readToken(context: OAuthFileContext, path: string): Promise<string> {
  const read = readBoundedFile(resolve(context.folder, path), { maxBytes: maxFileBytes });
  const token = await read.then(
    (bytes) => bytes.toString("utf8").trim(),
    (error: unknown) => {
      throw unusable(context, `cannot read the file ${path}: ${readReason(error)}.`, "Correct the path.");
    },
  );
  if (token === "") throw unusable(context, `the file ${path} is empty.`, "Check the program that writes the token.");
  if (!/^[\x21-\x7e]+$/.test(token))
    throw unusable(context, `the file ${path} does not contain a token.`, "Correct the path.");
  return token;
}

function readReason(error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code as BoundedReadCode) {
    case "ERR_NOT_A_FILE":
      return "it is not a regular file";
    case "ERR_FILE_TOO_LARGE":
      return `it is larger than ${maxFileBytes} bytes`;
    default:
      return systemReason(error);
  }
}

function readText(context: OAuthFileContext, path: string): string {
  try {
    return readBoundedFileSync(resolve(context.folder, path), maxFileBytes).toString("utf8");
  } catch (error) {
    throw unusable(context, `cannot read the file ${path}: ${readReason(error)}.`, "Correct the path.");
  }
}

function unusable({ path, server }: OAuthFileContext, problem: string, advice: string): ToolServerError {
  return new ToolServerError("CONFIGURATION_UNREADABLE", { problem: `${path}, ${server}: ${problem}`, advice });
}
