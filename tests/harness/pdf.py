"""PDFs, written by hand."""

FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def stream(content, dictionary=""):
    return f"<< {dictionary} /Length {len(content)} >>\nstream\n{content}\nendstream".encode()


def page(content, resources="", more=()):
    """A page that draws this. Objects 5 (the font, /F1) and from 6 on (`more`) can be named."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R"
        b" /Resources << %s /Font << /F1 5 0 R >> >> >>" % resources.encode(),
        stream(content), FONT, *more]
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1, table)


def laughs(depth=30):
    """Forms that draw the next one four times: no reader comes to the end."""
    forms = []
    for number in range(1, depth + 1):
        is_last = number == depth
        forms.append(stream(
            "BT /F1 9 Tf 1 1 Td (x) Tj ET" if is_last else "/X Do /X Do /X Do /X Do",
            "/Type /XObject /Subtype /Form /BBox [0 0 600 700] /Resources"
            f" << /XObject << /X {5 if is_last else 6 + number} 0 R >> /Font << /F1 5 0 R >> >>"))
    return page("/X Do", "/XObject << /X 6 0 R >>", forms)
