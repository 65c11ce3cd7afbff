import { type Check, Check_Outcome } from "@wirescope/gateway/admin";
import type { VNode } from "preact";
import { StateMark, type Tone, visibleText } from "../design/index.js";

const outcomes: Readonly<Record<Check_Outcome, readonly [tone: Tone, word: string]>> = {
  [Check_Outcome.UNSPECIFIED]: ["idle", "unknown"],
  [Check_Outcome.OK]: ["ready", "ok"],
  [Check_Outcome.FAILED]: ["failing", "failed"],
  [Check_Outcome.SKIPPED]: ["idle", "skipped"],
};

/** Steps or requirements, with their outcome and evidence. */
export function CheckList({ checks }: { readonly checks: readonly Check[] }): VNode {
  return (
    <ol class="check-list">
      {checks.map(({ name, outcome, evidence }) => {
        const [tone, word] = outcomes[outcome] ?? outcomes[Check_Outcome.UNSPECIFIED];
        return (
          <li key={name} class={outcome === Check_Outcome.SKIPPED ? "check check-skipped" : "check"}>
            <StateMark tone={tone}>{word}</StateMark>
            <span class="check-name">{name}</span>
            <ul class="check-evidence">
              {evidence.map((line, index) => (
                <li key={index}>{visibleText(line)}</li>
              ))}
            </ul>
          </li>
        );
      })}
    </ol>
  );
}
