import type { Cause, Fix } from "@wirescope/gateway/admin";
import type { ComponentChildren, VNode } from "preact";
import { Copy, Section, visibleText } from "../design/index.js";

interface CauseListProps {
  /** The most likely first. */
  readonly causes: readonly Cause[];
  /** The buttons that fix the first cause. */
  readonly children: ComponentChildren;
}

/** The most likely cause in full, and the others below it. */
export function CauseList({ causes, children }: CauseListProps): VNode | null {
  const [first, ...others] = causes;
  if (first === undefined) return null;
  return (
    <>
      <section class="cause cause-first">
        <h2>
          {first.title} <CauseCode cause={first} />
        </h2>
        <p>{visibleText(first.problem)}</p>
        <Evidence lines={first.evidence} />
        <FixText fix={first.fix} />
        {children}
      </section>
      {others.length > 0 && (
        <Section title="Other possible causes">
          {others.map((cause) => (
            <div key={cause.code} class="cause">
              <h3>
                {cause.title} <CauseCode cause={cause} />
              </h3>
              <p>{visibleText(cause.problem)}</p>
              <FixText fix={cause.fix} />
            </div>
          ))}
        </Section>
      )}
    </>
  );
}

/** Improvements that are possible whether or not the server works. */
export function Notes({ notes }: { readonly notes: readonly Cause[] }): VNode {
  return (
    <Section title="Notes">
      {notes.map(({ code, problem, fix }) => (
        <div key={code} class="cause">
          <p>{visibleText(problem)}</p>
          <FixText fix={fix} />
        </div>
      ))}
    </Section>
  );
}

function CauseCode({ cause: { code, weight } }: { readonly cause: Cause }): VNode {
  const likelihood = weight >= 0.9 ? "found" : weight >= 0.6 ? "likely" : "possible";
  return (
    <span class="cause-code">
      {code}, {likelihood}
    </span>
  );
}

function Evidence({ lines }: { readonly lines: readonly string[] }): VNode | null {
  if (lines.length === 0) return null;
  return (
    <ul class="cause-evidence">
      {lines.map((line, index) => (
        <li key={index}>{visibleText(line)}</li>
      ))}
    </ul>
  );
}

/** What to do, where, and the command for it. */
function FixText({ fix }: { readonly fix: Fix | undefined }): VNode | null {
  if (fix === undefined) return null;
  const { advice, command, file, line, column, write } = fix;
  return (
    <div class="fix">
      <p>{visibleText(advice)}</p>
      {file !== "" && <Copy text={line > 0 ? `${file}:${line}:${column}` : file} what="position" isShown />}
      {write !== "" && <Copy text={write} what="text to write" isShown />}
      {command !== "" && <Copy text={command} what="command" isShown />}
    </div>
  );
}
