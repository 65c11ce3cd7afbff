import "./table.css";
import type { ComponentChildren, VNode } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { SearchField } from "./field.js";
import { keepOrder, type SortOrder, type SortValue, sortRows } from "./row-order.js";
import { useVisibleRows } from "./visible-rows.js";

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  readonly render: (row: Row) => ComponentChildren;
  /** The value to sort by. Default: the column cannot be sorted. */
  readonly sortValue?: (row: Row) => SortValue;
  /** Whether the column has numbers, which are aligned at the right. */
  readonly isNumber?: boolean;
  /** 1 is always shown; 2 not in a narrow table; 3 only in a wide one. Default: 1. */
  readonly priority?: 1 | 2 | 3;
  /** Whether the column takes the remaining space, and truncates its text. */
  readonly isWide?: boolean;
}

export interface TableProps<Row> {
  /** What the rows are: "servers". Names the table and its search. */
  readonly what: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** The text to search in. Default: the table has no search. */
  readonly searchText?: (row: Row) => string;
  readonly search: string;
  readonly onSearch: (search: string) => void;
  /** Undefined: the order of the rows. */
  readonly sort: SortOrder | undefined;
  readonly onSort: (sort: SortOrder) => void;
  /** Filters and buttons next to the search. */
  readonly toolbar?: ComponentChildren;
  /** Called for a click on a row, and for Enter. */
  readonly onOpen?: (row: Row) => void;
  readonly selectedKey?: string | undefined;
  /** Shown if there are no rows. */
  readonly empty: ComponentChildren;
  /** Whether the table itself scrolls. Default: it scrolls with the view. Required for tables with more than 150 rows. */
  readonly isScrolling?: boolean;
}

/**
 * A table with search, sorting and keyboard navigation. While the pointer or the focus is inside, rows keep their places, so that
 * nothing moves away under a click. If there are many rows, only visible ones are in the document.
 */
export function Table<Row>(props: TableProps<Row>): VNode {
  const { what, columns, rows, keyOf, searchText, toolbar, onOpen, selectedKey, empty, isScrolling } = props;
  const { onSearch, sort, onSort } = props;
  const search = searchText === undefined ? "" : props.search;
  const [hasPointer, setPointer] = useState(false);
  const [hasFocus, setFocus] = useState(false);
  const isHeld = hasPointer || hasFocus;
  const [focusedKey, setFocusedKey] = useState<string>();
  const order = useRef<string[]>([]);
  const scroller = useRef<HTMLDivElement>(null);

  const shown = useMemo(() => {
    const needle = search.trim().toLowerCase();
    const found =
      searchText === undefined || needle === ""
        ? rows
        : rows.filter((row) => needle.split(/\s+/).every((word) => searchText(row).toLowerCase().includes(word)));
    const sortValue = columns.find(({ key }) => key === sort?.column)?.sortValue;
    const sorted = sortValue === undefined ? [...found] : sortRows(found, sortValue, sort?.isDescending ?? false);
    const kept = isHeld ? keepOrder(sorted, keyOf, order.current) : sorted;
    order.current = kept.map(keyOf);
    return kept;
  }, [rows, search, sort?.column, sort?.isDescending, isHeld, columns, keyOf, searchText]);

  const { first, last, before, after, onScroll } = useVisibleRows(scroller, shown.length);
  const visible = shown.slice(first, last);
  const tabStop = shown.some((row) => keyOf(row) === focusedKey) ? focusedKey : visible[0] && keyOf(visible[0]);

  const onKeyDown = (event: KeyboardEvent, row: Row): void => {
    // Keys on a button inside a row belong to the button.
    if (event.target !== event.currentTarget) return;
    const index = shown.indexOf(row);
    const next = { ArrowDown: index + 1, ArrowUp: index - 1, Home: 0, End: shown.length - 1 }[event.key];
    if (event.key === "Enter") onOpen?.(row);
    const target = next === undefined ? undefined : shown[next];
    if (target === undefined) return;
    event.preventDefault();
    setFocusedKey(keyOf(target));
    const body = (event.currentTarget as HTMLElement).parentElement;
    const rowInDocument = (): HTMLElement | null | undefined =>
      body?.querySelector<HTMLElement>(`[data-key="${CSS.escape(keyOf(target))}"]`);
    if (next === 0) scroller.current?.scrollTo({ top: 0 });
    if (next === shown.length - 1) scroller.current?.scrollTo({ top: scroller.current.scrollHeight });
    const found = rowInDocument();
    // At once, so that the next key reaches this row. After a jump, the row is in the document only when the table has scrolled to it.
    if (found) found.focus();
    else requestAnimationFrame(() => rowInDocument()?.focus());
  };

  const sortBy = ({ key }: Column<Row>): void => {
    order.current = [];
    onSort({ column: key, isDescending: sort?.column === key ? !sort.isDescending : false });
  };

  return (
    <div class={isScrolling ? "table-box table-box-scrolling" : "table-box"}>
      {(searchText !== undefined || toolbar !== undefined) && (
        <div class="table-toolbar">
          {searchText !== undefined && <SearchField what={what} value={search} onInput={onSearch} />}
          {toolbar}
          {search !== "" && (
            <span class="soft" role="status">
              {shown.length} of {rows.length}
            </span>
          )}
        </div>
      )}
      {shown.length === 0 ? (
        rows.length === 0 || search === "" ? (
          empty
        ) : (
          <p class="table-nothing">
            No {what} match “{search}”.
          </p>
        )
      ) : (
        <div
          class="table-scroller"
          ref={scroller}
          onScroll={onScroll}
          onPointerEnter={() => setPointer(true)}
          onPointerLeave={() => setPointer(false)}
          onFocusIn={() => setFocus(true)}
          // Not if the focus moves to another row: the rows would move between the press and the release of a click.
          onFocusOut={({ currentTarget, relatedTarget }) =>
            setFocus(relatedTarget instanceof Node && currentTarget.contains(relatedTarget))
          }
        >
          <table class="table" aria-label={what} aria-rowcount={shown.length + 1}>
            <thead>
              <tr>
                {columns.map((column) => (
                  <HeaderCell key={column.key} column={column} sort={sort} onSort={sortBy} />
                ))}
              </tr>
            </thead>
            <tbody>
              {before > 0 && <tr class="table-space" style={{ height: `${before}px` }} />}
              {visible.map((row, offset) => {
                const key = keyOf(row);
                return (
                  <tr
                    key={key}
                    data-key={key}
                    aria-rowindex={first + offset + 2}
                    aria-selected={selectedKey === undefined ? undefined : key === selectedKey}
                    class={onOpen === undefined ? undefined : "table-row-opens"}
                    tabIndex={onOpen === undefined ? undefined : key === tabStop ? 0 : -1}
                    onFocus={() => setFocusedKey(key)}
                    onKeyDown={(event) => onKeyDown(event, row)}
                    onClick={(event) => {
                      if (!isInteractive(event.target, event.currentTarget)) onOpen?.(row);
                    }}
                  >
                    {columns.map((column) => (
                      <td key={column.key} class={classesOf(column)}>
                        {column.render(row)}
                      </td>
                    ))}
                  </tr>
                );
              })}
              {after > 0 && <tr class="table-space" style={{ height: `${after}px` }} />}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

interface HeaderCellProps<Row> {
  readonly column: Column<Row>;
  readonly sort: SortOrder | undefined;
  readonly onSort: (column: Column<Row>) => void;
}

function HeaderCell<Row>({ column, sort, onSort }: HeaderCellProps<Row>): VNode {
  const { key, title, sortValue } = column;
  const direction = sort?.column !== key ? undefined : sort.isDescending ? "descending" : "ascending";
  return (
    <th scope="col" class={classesOf(column)} aria-sort={direction}>
      {sortValue === undefined ? (
        title
      ) : (
        <button type="button" class="table-sort" onClick={() => onSort(column)}>
          {title}
          <span class="table-direction" aria-hidden="true">
            {direction === "ascending" ? "↑" : direction === "descending" ? "↓" : ""}
          </span>
        </button>
      )}
    </th>
  );
}

function classesOf<Row>({ isNumber, isWide, priority = 1 }: Column<Row>): string {
  return [isNumber && "number", isWide && "table-wide", priority > 1 && `table-priority-${priority}`]
    .filter(Boolean)
    .join(" ");
}

/** Whether a click inside a row was meant for a control in it, or selected text. */
function isInteractive(target: EventTarget | null, row: Element): boolean {
  const control = target instanceof Element ? target.closest("a, button, input, select, label, dialog") : null;
  if (control !== null && row.contains(control)) return true;
  return (document.getSelection()?.toString() ?? "") !== "";
}
