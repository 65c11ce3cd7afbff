import type { Entry, NamedField, StdioEntry, TextField } from "../config/entry.js";
import { type FieldName, fieldTable } from "../config/field-table.js";
import { formatPath } from "../config/finding.js";
import { resolveOrigin, type Variables, variableUses } from "../config/substitute-entry.js";
import { pluginRootVariable, variablesOf } from "../config/template.js";
import { parseUrlTemplate, type UrlRegion } from "../config/url-template.js";
import { inheritedVariables } from "../process/child-environment.js";
import { noticesOf } from "./approval-notices.js";
import { secretFieldsOf, secretNotShown } from "./entry-form.js";
import type { EntryFingerprint, FileFingerprint } from "./fingerprint-entry.js";
import { originOf } from "./url-origin.js";

/** A header or a variable of a process, as it is written. */
export interface DescribedField {
  readonly name: string;
  /** With variables unexpanded; where a secret is wrongly written there, a sentence that says so. */
  readonly text: string;
}

/** A variable of the user that an entry would get. */
export interface DescribedVariable {
  readonly name: string;
  /** Where it goes, as `headers.Authorization`. */
  readonly field: string;
  /** The part of the url, where the field is that. */
  readonly region?: UrlRegion | undefined;
  readonly isSecret: boolean;
  readonly hasDefault: boolean;
}

/** What a person must see before they approve an entry. All text is as written: escape it before it reaches a terminal. */
export interface ApprovalDescription {
  readonly server: string;
  readonly type: Entry["type"];
  /** Where the entry stands in the file. */
  readonly line: number;
  readonly url?: string | undefined;
  /** Where the url leads with the values of its variables, in the normal form of URLs: what looks alike differs here. */
  readonly origin?: string | undefined;
  readonly headers: readonly DescribedField[];
  readonly helper?: string | undefined;
  readonly command?: string | undefined;
  readonly args: readonly string[];
  readonly environment: readonly DescribedField[];
  /**
   * What a program gets of the user's environment in addition: names, and patterns such as `npm_config_*`, of variables that hold
   * no credential; or `all` for a helper, which gets everything but the credentials of other servers.
   */
  readonly inherited: readonly string[] | "all";
  readonly variables: readonly DescribedVariable[];
  /** Fields that the format does not have. */
  readonly otherFields: readonly string[];
  /** The files whose content the approval is of; empty where no fingerprint was given. */
  readonly files: readonly FileFingerprint[];
  /** What may be overlooked, in sentences that are safe to print. */
  readonly notices: readonly string[];
}

/**
 * Describes an entry for approval, with the files of its fingerprint if one is given. Nothing is run, resolved by name or connected
 * to, and only the variables that decide where the url leads are looked up. A secret that is wrongly written into the entry is left
 * out.
 */
export function describeForApproval(
  entry: Entry,
  fingerprint?: EntryFingerprint,
  variables: Variables = {},
): ApprovalDescription {
  const secrets = secretFieldsOf(entry);
  const textOf = ({ path, template }: TextField): string =>
    secrets.has(formatPath(path.slice(entry.path.length))) ? secretNotShown : template.text;
  const namedOf = (fields: readonly NamedField[]): DescribedField[] =>
    fields.map((field) => ({ name: field.name, text: textOf(field) }));
  const isStdio = entry.type === "stdio";
  const resolved = resolveOrigin(entry, variables);
  const origin = resolved !== undefined && "origin" in resolved ? resolved.origin : undefined;
  const problem = resolved !== undefined && "problem" in resolved ? resolved.problem : undefined;
  return {
    server: entry.name,
    type: entry.type,
    line: entry.line,
    ...(isStdio
      ? { command: textOf(entry.command), args: entry.args.map(textOf), environment: namedOf(entry.env), headers: [] }
      : {
          url: textOf(entry.url),
          origin: originOf(entry.url.template, origin)?.text,
          headers: namedOf(entry.headers),
          helper: entry.headersHelper && textOf(entry.headersHelper),
          args: [],
          environment: [],
        }),
    inherited: isStdio ? inheritedVariables(commandOf(entry)) : entry.headersHelper === undefined ? [] : "all",
    variables: describeVariables(entry),
    otherFields: Object.keys(Object(entry.written)).filter((key) => !Object.hasOwn(fieldTable, key as FieldName)),
    files: fingerprint?.files ?? [],
    notices: [
      ...noticesOf(entry),
      ...(problem === undefined ? [] : [`It is not known where the url leads, so it will be asked again. ${problem}`]),
    ],
  };
}

/** The command of an entry; undefined if a variable of the user decides which it is. */
function commandOf({ command: { template } }: StdioEntry): string | undefined {
  return variablesOf(template).some(({ name }) => name !== pluginRootVariable) ? undefined : template.text;
}

function describeVariables(entry: Entry): DescribedVariable[] {
  const inUrl = entry.type === "stdio" ? [] : variablesOf(entry.url.template);
  const regions = entry.type === "stdio" ? [] : (parseUrlTemplate(entry.url.template)?.regions ?? []);
  const uses = variableUses(entry).map(({ variable: name, field, isSecret, hasDefault }): DescribedVariable[] => {
    if (field !== "url") return [{ name, field, isSecret, hasDefault }];
    const found = regions.filter((_, index) => inUrl[index]?.name === name);
    if (found.length === 0) return [{ name, field, isSecret, hasDefault }];
    return found.map((region) => ({ name, field, region, isSecret, hasDefault }));
  });
  const unique = new Map(uses.flat().map((use) => [JSON.stringify([use.name, use.field, use.region]), use]));
  return [...unique.values()];
}
