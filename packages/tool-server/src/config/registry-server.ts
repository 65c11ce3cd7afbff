import { isJsonObject } from "../json-object.js";
import type { Report } from "./finding.js";
import type { InputDefinition } from "./inputs.js";
import {
  type JsonMember,
  type JsonNode,
  type JsonObjectNode,
  jsonNodeAt,
  jsonNodeToValue,
  memberOf,
} from "./json-with-positions.js";

/** The servers that a `server.json` of a registry describes, in our format. */
export interface RegistryServers {
  readonly members: readonly JsonMember[];
  readonly inputs: readonly InputDefinition[];
}

type Fields = Readonly<Record<string, unknown>>;

/** How packages of each registry are run: the program, its arguments, and how a version is written. */
const runners: Readonly<Record<string, readonly [command: string, args: readonly string[], version: string]>> = {
  npm: ["npx", ["-y"], "@"],
  pypi: ["uvx", [], "=="],
  oci: ["docker", ["run", "-i", "--rm"], ":"],
  nuget: ["dnx", ["--yes"], "@"],
};

/** No file needs more. */
const maxServers = 64;

/** Converts each package and each remote of a `server.json` into an entry. Values that a user chooses become inputs. */
export function registryServers(root: JsonObjectNode, report: Report): RegistryServers {
  const all = camelCased(jsonNodeToValue(root)) as Fields;
  const base = textOf(all.name)?.split("/").at(-1) || "server";
  const about = { title: all.title, description: all.description };
  const inputs = new Map<string, InputDefinition>();
  const nodes = (name: string): readonly JsonNode[] => {
    const found = memberOf(root, name);
    return found?.kind === "array" ? found.items.slice(0, maxServers) : [];
  };
  const found = [
    ...nodes("packages").map((node) => ({ node, make: packageEntry })),
    ...nodes("remotes").map((node) => ({ node, make: remoteEntry })),
  ];
  const taken = new Set<string>();
  const members = found.flatMap(({ node, make }): JsonMember[] => {
    const fields = objectOf(camelCased(jsonNodeToValue(node)));
    const kind = textOf(fields.registryType) ?? textOf(fields.type) ?? textOf(fields.transportType) ?? "http";
    let name = found.length === 1 ? base : `${base}-${kind}`;
    for (let count = 2; taken.has(name); count += 1) name = `${base}-${kind}-${count}`;
    taken.add(name);
    const entry = make(fields, inputs);
    if (entry === undefined) {
      const message = `A package of the type ${JSON.stringify(kind.slice(0, 64))} cannot be started here.`;
      const fix = "Use another package or remote.";
      report("file-shape", "warning", { ...node, path: [], server: name }, message, fix);
      return [];
    }
    const described = Object.fromEntries(
      Object.entries({ ...about, ...entry }).filter(([, value]) => value !== undefined),
    );
    return [{ key: name, keyAt: node, value: jsonNodeAt(described, node) }];
  });
  return { members, inputs: [...inputs.values()] };
}

function packageEntry(fields: Fields, inputs: Map<string, InputDefinition>): Fields | undefined {
  const transport = objectOf(fields.transport);
  const url = textOf(transport.url);
  if (url !== undefined) return remoteEntry({ ...transport, variables: transport.variables ?? {} }, inputs);
  const [defaultValue, leading, mark] = runners[textOf(fields.registryType) ?? ""] ?? [];
  const identifier = textOf(fields.identifier);
  const command = textOf(fields.runtimeHint) ?? defaultValue;
  if (command === undefined || defaultValue === undefined || identifier === undefined) return undefined;
  const version = textOf(fields.version);
  const isKnown = command === defaultValue;
  const names = listOf(fields.environmentVariables).flatMap(({ name }) => textOf(name) ?? []);
  const passed = command === "docker" ? names.flatMap((name) => ["-e", name]) : [];
  const reference = isKnown && version !== undefined ? `${identifier}${mark}${version}` : identifier;
  const args = [
    ...(isKnown ? (leading ?? []) : []),
    ...passed,
    ...argumentsOf(fields.runtimeArguments, inputs),
    reference,
    ...argumentsOf(fields.packageArguments, inputs),
  ];
  const env = namedValues(fields.environmentVariables, environmentValue, inputs);
  // Optional ones are passed on if they are set.
  return { command, args, env, env_vars: names.filter((name) => !Object.hasOwn(env, name)) };
}

function environmentValue(name: string, variable: Fields, inputs: Map<string, InputDefinition>): string | undefined {
  const value = textOf(variable.value);
  if (value !== undefined) return withInputs(value, variable.variables, inputs);
  const defaultValue = textOf(variable.default);
  if (defaultValue !== undefined) return `\${${name}:-${defaultValue.replaceAll("}", "")}}`;
  return variable.isRequired === true ? `\${${name}}` : undefined;
}

function remoteEntry(fields: Fields, inputs: Map<string, InputDefinition>): Fields | undefined {
  const url = textOf(fields.url);
  if (url === undefined) return undefined;
  const headers = namedValues(fields.headers, givenValue, inputs);
  return {
    type: textOf(fields.type) ?? textOf(fields.transportType),
    url: withInputs(url, fields.variables, inputs),
    headers,
  };
}

/** The values of variables or headers, by name. */
function namedValues(list: unknown, read: typeof givenValue, inputs: Map<string, InputDefinition>): Fields {
  const pairs = listOf(list).flatMap((fields) => {
    const name = textOf(fields.name);
    const value = name === undefined ? undefined : read(name, fields, inputs);
    return name === undefined || value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(pairs);
}

function argumentsOf(list: unknown, inputs: Map<string, InputDefinition>): string[] {
  return listOf(list).flatMap((argument) => {
    const name = textOf(argument.name);
    const value = givenValue(name?.replace(/^-+/, "") ?? textOf(argument.valueHint) ?? "argument", argument, inputs);
    const hasValue = ["value", "default", "valueHint", "format", "choices"].some((key) => argument[key] !== undefined);
    if (name === undefined) return value === undefined ? [] : [value];
    if (value !== undefined) return [name, value];
    return hasValue ? [] : [name];
  });
}

/** The value of a header or argument: the one that is given, the default, or an input if it is required. */
function givenValue(name: string, fields: Fields, inputs: Map<string, InputDefinition>): string | undefined {
  const value = textOf(fields.value);
  if (value !== undefined) return withInputs(value, fields.variables, inputs);
  const defaultValue = textOf(fields.default);
  if (defaultValue !== undefined) return defaultValue;
  return fields.isRequired === true ? inputOf(name, fields, inputs) : undefined;
}

/** A string in which each `{name}` is an input, or the default of its variable. */
function withInputs(value: string, variables: unknown, inputs: Map<string, InputDefinition>): string {
  const known = objectOf(variables);
  return value.replace(/\{([\w.-]+)\}/g, (whole, name: string) => {
    if (!Object.hasOwn(known, name)) return whole;
    const fields = objectOf(known[name]);
    return textOf(fields.value) ?? textOf(fields.default) ?? inputOf(name, fields, inputs);
  });
}

function inputOf(name: string, fields: Fields, inputs: Map<string, InputDefinition>): string {
  const id = name.replace(/[^\w.-]+/g, "-").replace(/^[^A-Za-z0-9_]+/, "") || "value";
  const choices = Array.isArray(fields.choices) ? fields.choices.filter((each) => typeof each === "string") : [];
  const isSecret = fields.isSecret === true;
  const description = textOf(fields.description);
  const written = { id, description, password: isSecret, choices };
  inputs.set(id, { id, description, isSecret, suggestion: textOf(fields.placeholder), choices, written });
  return `\${input:${id}}`;
}

/** The value with `snake_case` keys, which older files have, as `camelCase`; the keys of `variables` stay. */
function camelCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelCased);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      key === "variables"
        ? Object.fromEntries(Object.entries(Object(inner)).map(([name, fields]) => [name, camelCased(fields)]))
        : camelCased(inner),
    ]),
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function objectOf(value: unknown): Fields {
  return isJsonObject(value) ? value : {};
}

function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}
