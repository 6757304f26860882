/* Values as typed outputs: text, html, markdown, latex, svg, json, image; all bounded. */
'use strict';

const text = load('text');

const apply = Reflect.apply;
const { bufferFrom, bufferToString, isUint8Array } = host;

const MAX_TEXT_CHARS = 1 << 20;
const MAX_STRING_CHARS = 10000; // inspect's own limit
const MAX_RICH_CHARS = 4 << 20;
const MAX_IMAGE_BYTES = 24 << 20;
const MAX_TABLE_ROWS = 1000;
const MAX_TABLE_COLUMNS = 100;
const MAX_CELL_CHARS = 1000;

/* How files of some kinds begin. */
const IMAGES = [
  ['png', [0x89, 0x50, 0x4e, 0x47]],
  ['jpeg', [0xff, 0xd8, 0xff]],
  ['gif', [0x47, 0x49, 0x46, 0x38]],
];

/* As inspect itself would show it, which takes seconds to come to that. */
function longString(value, options) {
  const shown = host.inspect(value.slice(0, MAX_STRING_CHARS), options);
  return text.clean(`${shown}... ${value.length - MAX_STRING_CHARS} more characters`);
}

/* As the REPL of Node.js shows it. */
function textOf(value) {
  try {
    const options = { ...host.inspectDefaults, showProxy: true };
    const isLong = typeof value === 'string' && value.length > MAX_STRING_CHARS;
    if (isLong) return longString(value, options);
    return text.clean(text.bound(String(host.inspect(value, options)), MAX_TEXT_CHARS));
  } catch (error) {
    return '<a value that cannot be shown: its own method for that failed>';
  }
}

function textOutput(shown) {
  return { type: 'text', text: shown };
}

function valueOf(value) {
  return textOutput(textOf(value));
}

/* What display(value) shows. */
function displayOf(value) {
  if (isUint8Array(value)) return imageOf(value) ?? valueOf(value);
  if (isTable(value)) return { type: 'html', html: tableOf(value), text: textOf(value) };
  return valueOf(value);
}

function formatOf(bytes) {
  for (const [format, magic] of IMAGES) {
    if (magic.every((byte, index) => bytes[index] === byte)) return format;
  }
  return null;
}

function imageOf(bytes) {
  const format = formatOf(bytes);
  if (format === null) return null;
  if (bytes.length > MAX_IMAGE_BYTES) {
    const size = bytes.length;
    return textOutput(`<an image of ${size} bytes: too large to show; save it to a file>`);
  }
  const buffer = bufferFrom(bytes.buffer, bytes.byteOffset, bytes.length);
  const image = { type: 'image', format, data: apply(bufferToString, buffer, ['base64']) };
  if (format === 'png' && bytes.length >= 24) {
    image.width = bigEndian(bytes, 16);
    image.height = bigEndian(bytes, 20);
  }
  return image;
}

function bigEndian(bytes, at) {
  return bytes[at] * 2 ** 24 + (bytes[at + 1] << 16) + (bytes[at + 2] << 8) + bytes[at + 3];
}

/* An array of objects, every one with data of its own rather than a class. */
function isTable(value) {
  if (!Array.isArray(value) || value.length === 0) return false;
  for (let i = 0; i < value.length && i < MAX_TABLE_ROWS; i++) {
    const row = value[i];
    if (row === null || typeof row !== 'object' || Array.isArray(row)) return false;
    if (host.types.isProxy(row) || Object.keys(row).length === 0) return false;
  }
  return true;
}

function escapeHtml(shown) {
  return shown.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

function tableCell(value) {
  if (value === undefined) return '<td></td>';
  const shown = typeof value === 'string' ? text.clean(value) : textOf(value);
  return `<td>${escapeHtml(text.bound(shown, MAX_CELL_CHARS))}</td>`;
}

function tableOf(rows, total = rows.length) {
  const shown = [];
  const columns = new Set();
  for (let i = 0; i < rows.length && i < MAX_TABLE_ROWS; i++) {
    shown.push(rows[i]);
    for (const key of Object.keys(rows[i])) {
      if (columns.size < MAX_TABLE_COLUMNS) columns.add(key);
    }
  }
  const names = [...columns];
  const head = names.map((name) => `<th>${escapeHtml(text.clean(name))}</th>`).join('');
  const body = [];
  let size = 0;
  for (const row of shown) {
    const line = `<tr>${names.map((name) => tableCell(row[name])).join('')}</tr>`;
    size += line.length;
    if (size > MAX_TEXT_CHARS) break;
    body.push(line);
  }
  const left = total - body.length;
  const note = left > 0 ? `<caption>${left} rows more</caption>` : '';
  return `<table>${note}<thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table>`;
}

/* Rows may be objects, arrays or single values. */
function asRow(row) {
  if (row === null || typeof row !== 'object' || host.types.isProxy(row)) return { value: row };
  return Array.isArray(row) ? { ...row.slice(0, MAX_TABLE_COLUMNS) } : row;
}

function tableFrom(rows) {
  const all = Array.isArray(rows) ? rows : Array.from(rows);
  if (all.length === 0) return valueOf(all);
  const html = tableOf(all.slice(0, MAX_TABLE_ROWS).map(asRow), all.length);
  return { type: 'html', html, text: textOf(all) };
}

/* display.html(…) and its like: the caller says what it is. */
function rich(type, member) {
  return (content) => {
    const shown = text.clean(String(content));
    if (shown.length > MAX_RICH_CHARS) return textOutput(`<${shown.length} characters of ${type}>`);
    return { type, [member]: shown };
  };
}

function jsonOf(value) {
  let document;
  try {
    document = JSON.parse(JSON.stringify(value), (key, part) =>
      typeof part === 'string' ? text.clean(part) : part,
    );
  } catch {
    return valueOf(value);
  }
  return { type: 'json', json: document, text: textOf(value) };
}

/* Methods of display(). */
const KINDS = {
  html: rich('html', 'html'),
  svg: rich('svg', 'svg'),
  markdown: rich('markdown', 'text'),
  latex: rich('latex', 'text'),
  json: jsonOf,
  table: tableFrom,
  image: (bytes) => (isUint8Array(bytes) && imageOf(bytes)) || valueOf(bytes),
};

Object.assign(exports, { textOf, valueOf, displayOf, KINDS });
