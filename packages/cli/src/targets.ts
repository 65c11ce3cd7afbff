import { lookup } from "node:dns/promises";
import { readFileSync, statSync } from "node:fs";
import { ChannelzError, parseTarget, printableText } from "@wirescope/channelz/internal";
import { unreadable } from "./file-failure.js";
import { UsageError } from "./usage-error.js";

/** A process to read, as the command line names it. */
export interface NamedTarget {
  /** The name that the user gave it; undefined if it has none. */
  readonly name: string | undefined;
  /** An address that parseTarget accepts. */
  readonly target: string;
  /** The DNS name that resolved to the address; its certificate is valid for this name. */
  readonly hostName?: string | undefined;
}

/** More than this are probably a mistake, such as the wrong file. */
const maxTargets = 1000;
const maxFileBytes = 1024 * 1024;

/** Looks up all addresses of a name, as the system does for a connection. */
export type LookUp = (host: string) => Promise<readonly string[]>;

const lookUpAll: LookUp = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/**
 * The processes that the values of `--target` name: `@file` is a file with one target per line (`#` begins a comment), `dns:name:port` is every
 * address of the name, `file:path` is a recording, as is a path that ends in `.wsr`, and `name=target` gives a target a name. A target that
 * is given twice is read once. Throws a UsageError, or TARGET_INVALID.
 */
export async function expandTargets(values: readonly string[], lookUp: LookUp = lookUpAll): Promise<NamedTarget[]> {
  const written = values.flatMap((value) => (value.startsWith("@") ? readTargetFile(value.slice(1)) : [value]));
  const expanded = await Promise.all(written.map((value) => expandTarget(value, lookUp)));
  const unique = new Map(expanded.flat().map((target) => [`${target.name}=${target.target}`, target]));
  const targets = [...unique.values()].filter(
    ({ name, target }) => name !== undefined || !expanded.flat().some((each) => each.name && each.target === target),
  );
  if (targets.length > maxTargets) {
    throw new UsageError(`--target names ${targets.length} processes; the maximum is ${maxTargets}.`);
  }
  const names = targets.flatMap(({ name }) => name ?? []);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new UsageError(`--target uses the name "${printableText(twice, 80)}" twice.`);
  return targets;
}

function readTargetFile(path: string): string[] {
  let text: string;
  try {
    if (statSync(path).size > maxFileBytes) throw new UsageError(`The file ${path} (--target) is larger than 1 MiB.`);
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw unreadable(path, "--target", error);
  }
  const targets: string[] = [];
  text.split(/\r?\n/).forEach((line, index) => {
    const value = line.replace(/(^|\s)#.*$/, "").trim();
    if (value === "") return;
    try {
      parseWritten(value);
    } catch (error) {
      if (!ChannelzError.is(error)) throw error;
      throw new UsageError(`Line ${index + 1} of ${path}: ${error.message}`);
    }
    targets.push(value);
  });
  if (targets.length === 0) throw new UsageError(`The file ${path} (--target) contains no target.`);
  return targets;
}

interface WrittenTarget {
  readonly name: string | undefined;
  readonly target: string;
  readonly isDnsName: boolean;
}

function parseWritten(value: string): WrittenTarget {
  const [, name, rest = value] = /^([\w][\w.-]*)=(.+)$/.exec(value.trim()) ?? [];
  // The path of a recording.
  if (rest.startsWith("file:")) return { name, target: rest, isDnsName: false };
  if (/^(?!\w+:).+\.wsr(@[^/]*)?$/.test(rest)) return { name, target: `file:${rest}`, isDnsName: false };
  const dns = /^dns:(?:\/\/\/)?(.*)$/i.exec(rest);
  const target = dns?.[1] ?? rest;
  parseTarget(target);
  return { name, target, isDnsName: dns !== null };
}

async function expandTarget(value: string, lookUp: LookUp): Promise<NamedTarget[]> {
  const { name, target, isDnsName } = parseWritten(value);
  if (!isDnsName) return [{ name, target }];
  const parsed = parseTarget(target);
  if (parsed.kind === "unix" || parsed.isTls !== undefined) {
    throw new UsageError(
      `--target "${printableText(value, 120)}" is invalid: dns: takes a name and a port, such as dns:orders.internal:50051.`,
    );
  }
  try {
    const addresses = [...new Set(await lookUp(parsed.host))];
    return addresses.map((address) => {
      const own = `${address.includes(":") ? `[${address}]` : address}:${parsed.port}`;
      const named = name !== undefined && addresses.length > 1 ? `${name}/${address}` : name;
      return { name: named, target: own, hostName: parsed.host };
    });
  } catch {
    // Connecting to it reports why the name cannot be resolved.
    return [{ name, target }];
  }
}
