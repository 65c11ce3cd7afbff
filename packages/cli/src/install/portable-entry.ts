import {
  type Entry,
  type Finding,
  formatPath,
  type NamedField,
  type SecretCommand,
  type TemplateField,
} from "@wirescope/tool-server/config";
import { mapOAuthSettings } from "@wirescope/tool-server/internal";

/** An entry in the format of `.mcp.json`, or why it cannot be written. */
export type PortableEntry =
  | { readonly entry: Readonly<Record<string, unknown>>; readonly variables: readonly string[] }
  | { readonly problem: string };

/**
 * Writes an entry of a client's file in the format of `.mcp.json`. A secret is not copied: a header or variable that contains one gets
 * a reference to a variable instead, which is among `variables`. `findings` are those of the entry.
 */
export function toPortableEntry(entry: Entry, findings: readonly Finding[]): PortableEntry {
  const secrets = new Map(
    findings.filter(({ code }) => code === "literal-secret").map((finding) => [JSON.stringify(finding.path), finding]),
  );
  const variables = new Set<string>();
  const withoutSecret = (field: TemplateField): string => {
    const key = JSON.stringify(field.path);
    const secret = secrets.get(key);
    const text = textOf(field);
    if (secret === undefined) return text;
    secrets.delete(key);
    const variable = secret.suggested?.variable ?? "TOKEN";
    variables.add(variable);
    const scheme = /^headers\.authorization$/i.test(field.field) ? /^(\w+) /.exec(text)?.[0] : undefined;
    return `${scheme ?? ""}\${${variable}}`;
  };
  const named = (key: string, fields: readonly NamedField[]): Record<string, unknown> => {
    const commands = entry.secretCommands.filter(({ target }) => target !== "clientSecret");
    const values = [
      ...fields.map((each) => [each.name, withoutSecret(each)]),
      ...commands.map((each) => [each.name, commandOf(each)]),
    ];
    return values.length === 0 ? {} : { [key]: Object.fromEntries(values) };
  };
  const more = otherFieldsOf(entry);
  const written =
    entry.type === "stdio"
      ? { command: textOf(entry.command), args: entry.args.map(textOf), ...named("env", entry.env), ...more }
      : { type: entry.type, url: textOf(entry.url), ...named("headers", entry.headers), ...helperOf(entry), ...more };
  const [left] = secrets.values();
  if (left !== undefined) return { problem: `${formatPath(left.path.slice(entry.path.length))} contains a secret` };
  return { entry: written, variables: [...variables] };
}

/** The text with variables in our syntax: other programs write `${env:NAME}`, `$NAME` or `{env:NAME}`. */
function textOf({ template }: TemplateField): string {
  return template.parts
    .map((part) => {
      if (part.kind === "text") return part.text;
      return part.fallback === undefined ? `\${${part.name}}` : `\${${part.name}:-${part.fallback}}`;
    })
    .join("");
}

/** A secret command in the format of `.mcp.json`. */
function commandOf({ command, prefix, timeoutMs, ttlMs }: SecretCommand): Record<string, unknown> {
  return {
    command: command.map(textOf),
    ...(prefix === "" ? {} : { prefix }),
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
    ...(ttlMs === undefined ? {} : { ttl: ttlMs }),
  };
}

function helperOf(entry: Exclude<Entry, { readonly type: "stdio" }>): Record<string, unknown> {
  const times = {
    ...(entry.helperTimeoutMs === undefined ? {} : { headersHelperTimeout: entry.helperTimeoutMs }),
    ...(entry.helperTtlMs === undefined ? {} : { headersHelperTtl: entry.helperTtlMs }),
  };
  return entry.headersHelper === undefined ? {} : { headersHelper: textOf(entry.headersHelper), ...times };
}

function otherFieldsOf(entry: Entry): Record<string, unknown> {
  const { description, isDisabled, tools, callTimeoutMs, connectTimeoutMs } = entry;
  const fields = {
    cwd: entry.type === "stdio" && entry.cwd ? textOf(entry.cwd) : undefined,
    envFile: entry.type === "stdio" && entry.envFile ? textOf(entry.envFile) : undefined,
    oauth: oauthOf(entry),
    timeout: callTimeoutMs,
    connectTimeout: connectTimeoutMs,
    includeTools: tools.include,
    excludeTools: tools.exclude.length === 0 ? undefined : tools.exclude,
    description,
    disabled: isDisabled || undefined,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** The OAuth settings in our spelling. Those with a client secret are not copied. */
function oauthOf(entry: Entry): Record<string, unknown> | undefined {
  if (entry.type === "stdio" || entry.oauth === undefined || entry.oauth.clientSecret !== undefined) return undefined;
  if (entry.secretCommands.some(({ target }) => target === "clientSecret")) return undefined;
  const { authorizeParameters, ...settings } = mapOAuthSettings(entry.oauth, textOf);
  return {
    ...settings,
    ...(authorizeParameters && { authorizeParameters: Object.fromEntries(authorizeParameters) }),
  };
}
