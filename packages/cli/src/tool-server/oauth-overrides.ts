import { createPrivateKey } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { OAuthOverrides } from "@wirescope/tool-server";
import type { MachineGrant } from "@wirescope/tool-server/auth";
import { parseTemplate, type Variables } from "@wirescope/tool-server/config";
import { UsageError } from "../usage-error.js";
import type { OAuthEntry } from "./oauth-entry.js";

/** Turns an entry of the user's file into what a session takes. All throw a UsageError that says where. */
export interface EntryReader {
  /** A string with its variables filled in; undefined if it is empty or missing. */
  text(value: string | undefined): string | undefined;
  overridesOf(entry: OAuthEntry): OAuthOverrides;
}

export interface EntryReaderOptions {
  readonly variables: Variables;
  /** Where relative paths begin. */
  readonly folder: string;
  /** The file and the server, for messages. */
  readonly where: string;
}

/** Fields that authenticate the client. They must not be sent to another server that takes the same name. */
const provingFields = ["clientSecret", "privateKeyFile", "grant"] as const;

export function createEntryReader({ variables, folder, where }: EntryReaderOptions): EntryReader {
  const wrong = (text: string): UsageError => new UsageError(`${where}: ${text}`);

  const text = (value: string | undefined): string | undefined =>
    value &&
    parseTemplate(value)
      .parts.map((part) => {
        if (part.kind === "text") return part.text;
        const found = variables[part.name] || part.fallback;
        if (!found) throw wrong(`${part.name} is not set.`);
        return found;
      })
      .join("");

  const readText = (path: string): string => {
    try {
      return readFileSync(resolve(folder, path), "utf8");
    } catch (error) {
      const why = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
      throw wrong(`cannot read the file ${path}${why}.`);
    }
  };

  const url = (name: keyof OAuthEntry, value: string | undefined): string | undefined => {
    const found = text(value);
    if (found !== undefined && !/^https?:\/\/[^/]/.test(found)) throw wrong(`${name} must be an https:// URL.`);
    return found;
  };

  const clientOf = (entry: OAuthEntry): OAuthOverrides["client"] => {
    const clientId = text(entry.clientId);
    if (clientId === undefined) {
      const field = entry.clientSecret ? "clientSecret" : entry.privateKeyFile ? "privateKeyFile" : undefined;
      if (field !== undefined) throw wrong(`${field} requires clientId.`);
      return undefined;
    }
    const keyFile = text(entry.privateKeyFile);
    const privateKey = keyFile === undefined ? undefined : readText(keyFile);
    if (privateKey !== undefined && !isPrivateKey(privateKey)) {
      throw wrong(`the file ${keyFile} must contain a private key in PEM (PKCS #8) without a passphrase.`);
    }
    const { keyId, algorithm } = entry;
    return { clientId, clientSecret: text(entry.clientSecret), privateKey, keyId, algorithm };
  };

  const grantOf = (entry: OAuthEntry): MachineGrant | undefined => {
    const file = (name: "assertionFile" | "identityTokenFile"): (() => Promise<string>) => {
      const path = text(entry[name]);
      if (path === undefined) throw wrong(`the grant ${entry.grant} requires ${name}.`);
      // Read each time: platforms renew such tokens in place.
      return async () => readText(path).trim();
    };
    switch (entry.grant) {
      case undefined:
        return undefined;
      case "client-credentials":
        if (!entry.clientId) throw wrong("the grant client-credentials requires clientId and a secret or key.");
        return { kind: "client-credentials" };
      case "workload":
        return { kind: "workload", assertion: file("assertionFile") };
      case "enterprise": {
        const tokenEndpoint = url("identityTokenEndpoint", entry.identityTokenEndpoint);
        const clientId = text(entry.identityClientId);
        if (tokenEndpoint === undefined || clientId === undefined) {
          throw wrong("the grant enterprise requires identityTokenEndpoint and identityClientId.");
        }
        const provider = { tokenEndpoint, client: { clientId } };
        return { kind: "enterprise", provider, idToken: file("identityTokenFile") };
      }
      default:
        throw wrong("grant must be client-credentials, workload or enterprise.");
    }
  };

  const redirectOf = ({ redirectHost: host, redirectPort: port }: OAuthEntry): OAuthOverrides["redirect"] => {
    if (host !== undefined && host !== "127.0.0.1" && host !== "localhost") {
      throw wrong("redirectHost must be 127.0.0.1 or localhost.");
    }
    if (port !== undefined && !(Number.isInteger(port) && port > 0 && port < 65_536)) {
      throw wrong("redirectPort must be an integer from 1 to 65535.");
    }
    return { host, port };
  };

  return {
    text,
    overridesOf(entry) {
      const proving = provingFields.find((name) => entry[name]);
      if (proving !== undefined && !entry.url) {
        throw wrong(
          `${proving} requires url, the URL of the server. Without it, any project could use it for a server of the same name.`,
        );
      }
      const clientMetadataUrl = text(entry.clientMetadataUrl);
      if (clientMetadataUrl !== undefined && !/^https:\/\/[^/]+\/./.test(clientMetadataUrl)) {
        throw wrong("clientMetadataUrl must be an https:// URL with a path.");
      }
      const { scopes, bindsTokens } = entry;
      return {
        issuer: url("issuer", entry.issuer),
        client: clientOf(entry),
        clientMetadataUrl,
        scopes,
        bindsTokens,
        redirect: redirectOf(entry),
        grant: grantOf(entry),
      };
    },
  };
}

function isPrivateKey(pem: string): boolean {
  try {
    createPrivateKey(pem);
    return true;
  } catch {
    return false;
  }
}
