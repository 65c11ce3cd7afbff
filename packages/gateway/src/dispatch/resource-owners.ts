import { isObject, type RpcObject } from "@wirescope/tool-server/internal";
import type { GatewayServer } from "../servers/server.js";
import { fitsLiterals } from "../servers/tool-filter.js";
import { hasApp } from "./app-resources.js";
import { prefixedUri, skillFolder } from "./prefixed-uri.js";

/**
 * Which servers a URI may belong to. A server can list any URI, and mention any in a result, so if more than one may have it, nothing is
 * guessed: clients get URIs that identify their server.
 */
export interface ResourceOwners {
  /** The servers that list it, show it as an app, have it in a skill, or have a template that it fits. */
  of(uri: string): GatewayServer[];
  /** Whether another server lists it, or has a template of its scheme. */
  isShared(server: GatewayServer, uri: string): boolean;
  /** The URI for clients: one that identifies the server if it is shared. */
  uriFor(server: GatewayServer, uri: string): string;
  /** The template for clients: one that identifies the server if another has a template, or lists a URI, of its scheme. */
  templateFor(server: GatewayServer, template: string): string;
}

export function createResourceOwners(servers: () => readonly GatewayServer[]): ResourceOwners {
  const others = (server: GatewayServer): GatewayServer[] => servers().filter((each) => each !== server);
  const isShared = (server: GatewayServer, uri: string): boolean =>
    others(server).some(
      (other) => names(other, uri) || (!isListedScheme(uri) && hasScheme(other.templates.known, uri)),
    );
  return {
    of(uri) {
      const naming = servers().filter((server) => names(server, uri));
      if (naming.length > 0 && isListedScheme(uri)) return naming;
      return servers().filter((server) => naming.includes(server) || hasTemplate(server, uri));
    },
    isShared,
    uriFor: (server, uri) => (isShared(server, uri) ? prefixedUri(server.name, uri) : uri),
    templateFor(server, template) {
      const isSharedScheme = others(server).some(
        ({ templates, resources }) => hasScheme(templates.known, template) || hasScheme(resources.known, template),
      );
      return isSharedScheme ? prefixedUri(server.name, template) : template;
    },
  };
}

/** Apps and skills are listed; each server with skills has a template that all skills of all servers fit. */
function isListedScheme(uri: string): boolean {
  return uri.startsWith("ui://") || uri.startsWith("skill://");
}

/** Whether a server lists a URI, shows it as an app, or has it in a skill. */
function names(server: GatewayServer, uri: string): boolean {
  return indexOf(server.resources.known).uris.has(uri) || hasApp(server, uri) || hasSkill(server, uri);
}

/** What is looked up in a list, which does not change once it is known. */
interface ListIndex {
  readonly uris: ReadonlySet<unknown>;
  readonly schemes: ReadonlySet<string>;
}

const indexes = new WeakMap<readonly RpcObject[], ListIndex>();
const none: readonly RpcObject[] = [];

function indexOf(list: readonly RpcObject[] = none): ListIndex {
  let index = indexes.get(list);
  if (index === undefined) {
    const uris = new Set(list.map(({ uri, uriTemplate }) => uri ?? uriTemplate));
    index = { uris, schemes: new Set([...uris].map((uri) => schemeOf(String(uri)))) };
    indexes.set(list, index);
  }
  return index;
}

/** The scheme of a URI or template; empty if it is in a variable, so that it may be any. */
function schemeOf(text: string): string {
  return /^[^:{]*(?=:)/.exec(text)?.[0].toLowerCase() ?? "";
}

function hasScheme(list: readonly RpcObject[] | undefined, text: string): boolean {
  const { schemes } = indexOf(list);
  const scheme = schemeOf(text);
  return schemes.has(scheme) || schemes.has("") || (scheme === "" && schemes.size > 0);
}

function hasSkill({ skills }: GatewayServer, uri: string): boolean {
  if (!uri.startsWith("skill://")) return false;
  return (skills.known ?? []).some((skill) => {
    const folder = skillFolder(skill);
    return skill.uri === uri || (folder !== "" && uri.startsWith(folder));
  });
}

/** A template also fits itself, because completions name it. */
function hasTemplate({ templates }: GatewayServer, uri: string): boolean {
  const { known = [] } = templates;
  return known.some(({ uriTemplate }) => uriTemplate === uri || templateFits(String(uriTemplate), uri));
}

/** Whether a URI fits a template (RFC 6570). */
export function templateFits(template: string, uri: string): boolean {
  return fitsLiterals(template.split(/\{[^{}]*\}/), uri);
}

/** The maximum number of links in a result whose servers are looked up. */
const maxLinks = 1000;

/** Content with another URI in each link and each embedded resource; unchanged if all stay the same. */
export function mapLinks(content: readonly unknown[], rename: (uri: string) => string): readonly unknown[] {
  // Most results have none.
  if (!content.some((block) => isObject(block) && (block.type === "resource" || block.type === "resource_link")))
    return content;
  let links = 0;
  let isSame = true;
  const renamed = content.map((block) => {
    if (!isObject(block)) return block;
    const holder = block.type === "resource" ? block.resource : block.type === "resource_link" ? block : undefined;
    if (!isObject(holder) || typeof holder.uri !== "string" || links >= maxLinks) return block;
    links += 1;
    const uri = rename(holder.uri);
    if (uri === holder.uri) return block;
    isSame = false;
    return holder === block ? { ...block, uri } : { ...block, resource: { ...holder, uri } };
  });
  return isSame ? content : renamed;
}
