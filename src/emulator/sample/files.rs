//! The sample's personal files: invoices, manuals, a plan, and one that is too large to have come through the API.

use super::super::Contents;
use super::super::world::World;
use crate::model::FolderId;

const INVOICES: [(&str, &str); 3] = [
    (
        "2026-01 Bicis del Norte.csv",
        "fecha;concepto;importe\n2026-01-08;20 cámaras 700x25;78,00\n2026-01-08;6 cadenas 11v;132,60\n2026-01-22;Portes;9,90\n",
    ),
    (
        "2026-02 Bicis del Norte.csv",
        "fecha;concepto;importe\n2026-02-11;10 cubiertas 28\";189,00\n2026-02-11;Cinta de manillar (negra);24,50\n",
    ),
    ("2026-02 Luz.csv", "fecha;concepto;importe\n2026-02-28;Electricidad del taller;143,17\n"),
];

const NOTES: &str = "Pares de apriete (Nm)\n\nPotencia-manillar    5\nPotencia-tubo        5-6\nTija de sillín       5-7\n\
                     Bielas Hollowtech    12-14\nCassette             40\nDisco Center Lock    40\n";

const PLAN: &str = concat!(
    r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 80" width="480" height="320">"##,
    r##"<rect x="2" y="2" width="116" height="76" fill="none" stroke="#334155" stroke-width="2"/>"##,
    r##"<rect x="8" y="8" width="40" height="14" fill="#fde68a"/><text x="11" y="17" font-size="6">Banco 1</text>"##,
    r##"<rect x="8" y="30" width="40" height="14" fill="#bfdbfe"/><text x="11" y="39" font-size="6">Banco 2</text>"##,
    r##"<circle cx="90" cy="26" r="12" fill="#bbf7d0"/><text x="80" y="28" font-size="6">Entrada</text></svg>"##,
    "\n"
);

pub(super) fn fill(world: &mut World) {
    let text = |text: &str| Contents::Bytes(text.as_bytes().to_vec());
    let folder =
        |world: &mut World, parent: Option<&FolderId>, name: &str| world.app_make_folder(parent, name);
    let invoices = folder(world, None, "Facturas");
    let year = folder(world, Some(&invoices), "2026");
    for (name, lines) in INVOICES {
        world.app_put_file(Some(&year), name, text(lines));
    }
    let manuals = folder(world, None, "Manuales");
    world.app_put_file(Some(&manuals), "Pares de apriete.txt", text(NOTES));
    world.app_put_file(Some(&manuals), "Plano del taller.svg", text(PLAN));
    folder(world, None, "Fotos");
    world.app_put_file(None, "Lista de la compra.txt", text("Café\nTrapos\nBombillas E27\n"));
    // It was put there in the app: the API takes 3 MB.
    world.app_put_file(None, "Copia de la caja 2025.bak", Contents::Made { seed: 2025, len: 4_700_000 });
}
