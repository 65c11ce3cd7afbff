import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { Button, Copy } from "../design/index.js";
import { visibleLine, visibleText } from "../design/visible-text.js";
import { type Offer, objectOf, type Run, runs, startRun } from "../shell/mcp/index.js";
import { commandLine } from "./command-line.js";
import { CompletedField } from "./completed-field.js";
import { OfferHeader } from "./offer-header.js";
import { RunView } from "./run-view.js";

const maxArguments = 100;

/** A prompt: its arguments, and the messages that it returns. */
export function PromptDetail({ offer }: { readonly offer: Offer }): VNode {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [isTried, setTried] = useState(false);
  const [shownId, setShownId] = useState<number>();
  const declared = argumentsOf(offer);
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
  const isMissing = ({ name, isRequired }: PromptArgument): boolean => isRequired && !Object.hasOwn(given, name);
  const own = runs.value.filter((run) => run.offer.key === offer.key && run.offer.kind === "prompt");
  const shown = own.find(({ id }) => id === shownId) ?? own[0];
  const get = (): void => {
    setTried(true);
    if (!declared.some(isMissing)) setShownId(startRun(offer, "prompts/get", { name: offer.key, arguments: given }));
  };
  const reuse = ({ params, id }: Run): void => {
    setShownId(id);
    setValues(objectOf(params.arguments) as Readonly<Record<string, string>>);
  };
  const command = commandLine({ offer, method: "prompts/get", params: { arguments: given } });
  return (
    <article class="detail">
      <OfferHeader offer={offer} />
      <form
        class="detail-form"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          get();
        }}
      >
        {declared.length === 0 && <p class="soft">No arguments.</p>}
        {declared.map((argument) => (
          <CompletedField
            key={argument.name}
            name={argument.name}
            hint={argument.description}
            isRequired={argument.isRequired}
            error={isTried && isMissing(argument) ? "Required." : undefined}
            value={Object.hasOwn(values, argument.name) ? (values[argument.name] ?? "") : ""}
            reference={{ type: "ref/prompt", name: offer.key }}
            others={given}
            onInput={(value) => setValues({ ...values, [argument.name]: value })}
          />
        ))}
        <div class="detail-actions">
          <Button kind="primary" type="submit" needsServer>
            Get
          </Button>
          {command !== undefined && (
            <span class="detail-command">
              <code>{visibleLine(command, 400)}</code>
              <Copy text={command} what="command" />
            </span>
          )}
        </div>
      </form>
      {shown !== undefined && <RunView run={shown} runs={own} onShow={setShownId} onReuse={reuse} />}
    </article>
  );
}

interface PromptArgument {
  readonly name: string;
  readonly description: string | undefined;
  readonly isRequired: boolean;
}

function argumentsOf({ definition }: Offer): readonly PromptArgument[] {
  const list: readonly unknown[] = Array.isArray(definition.arguments) ? definition.arguments : [];
  return list.slice(0, maxArguments).flatMap((item) => {
    const { name, description, required } = objectOf(item);
    if (typeof name !== "string") return [];
    const text = typeof description === "string" ? visibleText(description.slice(0, 2000)) : undefined;
    return [{ name, description: text, isRequired: required === true }];
  });
}
