import { isObject, type RpcObject } from "@wirescope/tool-server/internal";
import type { GatewayServer } from "../servers/server.js";
import { fitsLiterals } from "../servers/tool-filter.js";
import { hasApp } from "./app-resources.js";
import { prefixedUri } from "./prefixed-uri.js";

/**
 * Which servers a URI may belong to. A server can list any URI and link to any URI in a result, so if several servers may have one, the
 * gateway does not guess: clients get URIs that identify their server.
 */
export interface ResourceOwners {
  /** The servers that list it, have it as an app or in a skill, or have a template that matches it. */
  of(uri: string): GatewayServer[];
  /** Whether another server lists it, or has a template with its scheme. */
  isShared(server: GatewayServer, uri: string): boolean;
  /** The URI for clients: one that identifies the server if it is shared. */
  uriFor(server: GatewayServer, uri: string): string;
  /** The template for clients: one that identifies the server if another has a template or a resource with its scheme. */
  templateFor(server: GatewayServer, template: string): string;
}

export function createResourceOwners(servers: () => readonly GatewayServer[]): ResourceOwners {
  const others = (server: GatewayServer): GatewayServer[] => servers().filter((each) => each !== server);
  const isShared = (server: GatewayServer, uri: string): boolean =>
    others(server).some(
      (other) => listsUri(other, uri) || (!isListedScheme(uri) && hasScheme(other.templates.cached, uri)),
    );
  return {
    of(uri) {
      const listing = servers().filter((server) => listsUri(server, uri));
      if (listing.length > 0 && isListedScheme(uri)) return listing;
      return servers().filter((server) => listing.includes(server) || hasTemplate(server, uri));
    },
    isShared,
    uriFor: (server, uri) => (isShared(server, uri) ? prefixedUri(server.name, uri) : uri),
    templateFor(server, template) {
      const isSharedScheme = others(server).some(
        ({ templates, resources }) => hasScheme(templates.cached, template) || hasScheme(resources.cached, template),
      );
      return isSharedScheme ? prefixedUri(server.name, template) : template;
    },
  };
}

/** Apps and skills are found by list: the template of one server with skills matches the skills of all servers. */
function isListedScheme(uri: string): boolean {
  return uri.startsWith("ui://") || uri.startsWith("skill://");
}

/** Whether a server lists a URI, or has it as an app or in a skill. */
function listsUri(server: GatewayServer, uri: string): boolean {
  return indexOf(server.resources.cached).uris.has(uri) || hasApp(server, uri) || hasSkill(server, uri);
}

/** An index of a list. A cached list does not change, so it is indexed once. */
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

/** The scheme of a URI or template; empty if it is in a variable and could be any. */
function schemeOf(text: string): string {
  return /^[^:{]*(?=:)/.exec(text)?.[0].toLowerCase() ?? "";
}

function hasScheme(list: readonly RpcObject[] | undefined, text: string): boolean {
  const { schemes } = indexOf(list);
  const scheme = schemeOf(text);
  return schemes.has(scheme) || schemes.has("") || (scheme === "" && schemes.size > 0);
}

/**
 * The folder of a skill: everything in it belongs to the skill. Empty if the skill has no folder of its own, so that it does not claim
 * another server's resources.
 */
function skillFolder({ uri }: RpcObject): string {
  return /^skill:\/\/[^/]+\/(?:.*\/)?/s.exec(String(uri))?.[0] ?? "";
}

function hasSkill({ skills }: GatewayServer, uri: string): boolean {
  if (!uri.startsWith("skill://")) return false;
  return (skills.cached ?? []).some((skill) => {
    const folder = skillFolder(skill);
    return skill.uri === uri || (folder !== "" && uri.startsWith(folder));
  });
}

/** A template also matches itself, because completion requests name it. */
function hasTemplate({ templates }: GatewayServer, uri: string): boolean {
  const { cached = [] } = templates;
  return cached.some(({ uriTemplate }) => uriTemplate === uri || templateFits(String(uriTemplate), uri));
}

/** Whether a URI matches a template (RFC 6570). */
export function templateFits(template: string, uri: string): boolean {
  return fitsLiterals(template.split(/\{[^{}]*\}/), uri);
}

/** The maximum number of links in a result whose servers are looked up. */
const maxLinks = 1000;

/** Content with `rename` applied to the URI of each link and embedded resource; the same array if nothing changes. */
export function mapLinks(content: readonly unknown[], rename: (uri: string) => string): readonly unknown[] {
  // Most results have no links.
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
